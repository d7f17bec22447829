# SPDX-License-Identifier: Apache-2.0
# make            build/sonde, build/sonde-agent, build/libsonde.a, build/libsonde.so
# make help       this list
# make demo       install what is needed (Debian), build, analyse the shipped samples
# make check      install what is needed (Debian), build in every way, all tests
# make test       all builds and tests of make check, installing nothing; K=TEXT: those with TEXT in their name, with what is built
# make format     all C files as .clang-format says
# make lint       layers, figures, files; cppcheck and clang-tidy where they are installed
# make coverage   lines that the tests run, for each folder (K=TEXT: by those tests), in build-cov/
# make dist       sonde-VERSION.tar.xz of the last commit, and its checksum, in build/
# make lab        a nested KVM machine in software: record, gather, analyse, compare with the hardware (QEMU=stock: in Debian's
#                 emulator, which loses most runs)
# make check-lab  all scenarios of the lab, on both kernels
# make bench      timings beside peers; BIG=1 adds a run on 10 GB
# make bench-guest  what hypertracing costs, in the lab: a table in bench/results
# make guest-module KDIR=…  the guest's kernel module (kernel/guest/README.md), in build/guest/RELEASE/
# make vmx-module KDIR=…  the host's, for Intel's CPUs (kernel/vmx/README.md), in build/vmx/RELEASE/
# make bench-web  the page in Chromium: first paint, frames, replies (RUN=FILE.sonde)
# make install    everything below PREFIX (/usr/local), after DESTDIR; make uninstall takes it away
# make SANITIZE=1 with address and undefined-behaviour sanitizers, in build-san/
# make SANITIZE=thread  with the thread sanitizer, in build-tsan/
# make FUZZ=1     fuzz targets for libFuzzer (clang), in build-fuzz/: make FUZZ=1 fuzz
#
# SONDE_NO_INSTALL=1 keeps demo, check, lab and bench from installing packages.

ifeq ($(origin CC),default)
CC := $(if $(FUZZ),clang-14,gcc)
endif
B := $(if $(FUZZ),build-fuzz,$(if $(filter thread,$(SANITIZE)),build-tsan,$(if $(SANITIZE),build-san,$(if $(COVERAGE),build-cov,build))))
OPT ?= $(if $(SANITIZE)$(FUZZ)$(COVERAGE),-O1,-O2)
PKGS := libzstd zlib libxxhash jansson
REPORT_PKGS := smartcols
RECORD_PKGS := libtracefs libtraceevent nettle
SERVE_PKGS := libmicrohttpd
SQL_PKGS := sqlite3
TERM_PKGS := ncursesw
HAVE_PKGS := $(shell pkg-config --exists $(PKGS) $(REPORT_PKGS) $(RECORD_PKGS) $(SERVE_PKGS) $(TERM_PKGS) $(SQL_PKGS) 2>/dev/null && echo yes)
PKG_CFLAGS := $(if $(HAVE_PKGS),$(shell pkg-config --cflags $(PKGS) $(REPORT_PKGS)))
PKG_LIBS := $(if $(HAVE_PKGS),$(shell pkg-config --libs $(PKGS)))
REPORT_LIBS := $(if $(HAVE_PKGS),$(shell pkg-config --libs $(REPORT_PKGS)))
RECORD_CFLAGS := $(if $(HAVE_PKGS),$(shell pkg-config --cflags $(RECORD_PKGS)))
RECORD_LIBS := $(if $(HAVE_PKGS),$(shell pkg-config --libs $(RECORD_PKGS)))
RECORD_STATIC_LIBS := $(if $(HAVE_PKGS),$(shell pkg-config --static --libs $(RECORD_PKGS)))
TERM_LIBS := $(if $(HAVE_PKGS),$(shell pkg-config --libs $(TERM_PKGS)))
SERVE_LIBS := $(if $(HAVE_PKGS),$(shell pkg-config --libs $(SERVE_PKGS)))
SQL_LIBS := $(if $(HAVE_PKGS),$(shell pkg-config --libs $(SQL_PKGS)))
# Hypertrace calls are folded by a BPF program, where it can be built; else record says so.
BPF_CLANG := $(firstword $(shell command -v clang-14 clang))
BPFTOOL := $(firstword $(shell command -v bpftool) $(wildcard /usr/sbin/bpftool))
HAVE_BPF := $(if $(and $(BPF_CLANG),$(BPFTOOL),$(shell pkg-config --exists 'libbpf >= 1' && echo yes)),yes)
BPF_LIBS := $(if $(HAVE_BPF),$(shell pkg-config --libs libbpf))
comma := ,
SAN_FLAGS := $(if $(SANITIZE)$(FUZZ),-fsanitize=$(if $(filter thread,$(SANITIZE)),thread,address$(comma)undefined) \
	-fno-sanitize-recover=all)
# clang 14 calls NULL + 0 an overflow of a pointer.
SAN_FLAGS += $(if $(FUZZ),-fsanitize=fuzzer-no-link -fno-sanitize=pointer-overflow)
SAN_FLAGS += $(if $(COVERAGE),--coverage -fprofile-update=atomic)
VERSION := 0.1.0
# What a release was made of says so itself (make dist); it may lie in another repository.
COMMIT := $(shell cut -c1-12 COMMIT 2>/dev/null || git rev-parse --short=12 HEAD 2>/dev/null)
# CFLAGS, LDFLAGS and LDLIBS are the user's, and come last.
ALL_CFLAGS = -std=gnu17 -g $(OPT) -Wall -Wextra -Werror -fno-strict-aliasing -fvisibility=hidden \
	     -fPIC -I. -Ilibsonde/include $(SAN_FLAGS) $(PKG_CFLAGS) $(OWN_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(SAN_FLAGS) $(LDFLAGS)
ALL_LDLIBS = $(OWN_LDLIBS) $(PKG_LIBS) -lpthread -lm $(LDLIBS)

# The folders in the order of the data, each with those inside it; one uses only what stands before it
# (tools/check-layers).
in = $(wildcard $(foreach d,$1,$d/*.c $d/*/*.c))
LIB_SRC := $(call in,base channel arch events source clock merge history model query analysis libsonde)
REPORT_SRC := $(call in,report)
SERVE_SRC := $(call in,serve)
EXPORT_SRC := $(call in,export)
SQL_SRC := $(filter-out sql/extension.c,$(call in,sql))
# What a loaded extension has no use for: a session of the program, and its queries.
SQL_EXTENSION_SRC := $(filter-out sql/session.c sql/ready.c,$(call in,sql))
TERM_SRC := $(call in,term)
RECORD_SRC := $(filter-out $(if $(HAVE_BPF),,%_bpf.c),$(call in,record))
CMD_SRC := $(filter-out cmd/static/%,$(call in,cmd))
TEST_SRC := $(wildcard tests/unit/test_*.c)
BENCH_SRC := $(wildcard bench/bench_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
TEST_TOOL_SRC := $(wildcard tests/clock/*.c tests/oracle/*.c tests/differential/*.c)

LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
RECORD_OBJ := $(RECORD_SRC:%.c=$(B)/%.o)
REPORT_OBJ := $(REPORT_SRC:%.c=$(B)/%.o)
SERVE_OBJ := $(SERVE_SRC:%.c=$(B)/%.o)
EXPORT_OBJ := $(EXPORT_SRC:%.c=$(B)/%.o)
SQL_OBJ := $(SQL_SRC:%.c=$(B)/%.o)
SQL_EXTENSION_OBJ := $(SQL_EXTENSION_SRC:%.c=$(B)/extension/%.o)
TERM_OBJ := $(TERM_SRC:%.c=$(B)/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(B)/%.o)
FUZZERS := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
TESTS := $(TEST_SRC:tests/unit/%.c=$(B)/tests/%)
BENCHES := $(BENCH_SRC:bench/%.c=$(B)/bench/%)
TEST_TOOLS := $(TEST_TOOL_SRC:tests/%.c=$(B)/%) $(B)/agent/fake_agent $(B)/agent/gather \
	$(B)/property/less_specific
TEST_TOOLS += $(if $(SANITIZE)$(FUZZ)$(COVERAGE),,$(B)/kernel/hypertrace)
HAVE_TRACECMD := $(shell pkg-config --exists libtracecmd 2>/dev/null && echo yes)
ifeq ($(HAVE_TRACECMD),yes)
BENCHES += $(B)/bench/peer_tracecmd
else
TEST_TOOLS := $(filter-out %/dat_compare %/perf_data,$(TEST_TOOLS))
endif
HAVE_BABELTRACE := $(shell pkg-config --exists babeltrace2 2>/dev/null && echo yes)
ifneq ($(HAVE_BABELTRACE),yes)
TEST_TOOLS := $(filter-out %/ctf_compare,$(TEST_TOOLS))
endif

.PHONY: all help man completion install uninstall clean tests benches fuzz need demo check test format lint coverage dist \
	bench bench-guest lab check-lab lab-programs lab-workloads
all: $(B)/libsonde.a $(B)/sonde $(B)/sonde-agent $(B)/libsonde.so $(B)/sonde_sqlite.so man completion

need:
ifneq ($(HAVE_PKGS),yes)
	@echo "make: pkg-config does not find all of: $(PKGS) $(REPORT_PKGS) $(RECORD_PKGS) $(SERVE_PKGS) $(TERM_PKGS) $(SQL_PKGS)" >&2
	@echo "make: run tools/install-deps, then make again" >&2
	@false
endif

# $(call remember,FILE,TEXT): FILE is new when TEXT is another than last time.  What depends on it is made
# again where a file was deleted, or with other flags, another compiler, another version.
# Several makes may run at a time (tests do that): each compares a file of its own.
remember = $(B)/gen/$1$(if $(UNBUILT),,$(shell mkdir -p $(B)/gen)$(file >$(B)/gen/$1.$(MAKE_PID),$2)$(shell cd $(B)/gen && \
	if cmp -s $1.$(MAKE_PID) $1; then rm $1.$(MAKE_PID); else mv $1.$(MAKE_PID) $1; fi))
MAKE_PID := $(shell echo $$PPID)
# None of the goals builds here, at least not by itself.
UNBUILT := $(if $(MAKECMDGOALS),$(if $(filter-out help clean format lint dist coverage uninstall demo check bench lab \
	check-lab,$(MAKECMDGOALS)),,yes))
FLAGS := $(call remember,flags,$(shell $(CC) --version 2>/dev/null | head -1) $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(ALL_LDLIBS) \
	$(RECORD_CFLAGS) $(RECORD_LIBS) $(HAVE_BPF))
# (However B is spelled: a make of B=/its/whole/path is no reason to link again.)
OBJECTS := $(call remember,objects,$(patsubst $(B)/%,%,$(LIB_OBJ) $(REPORT_OBJ) $(RECORD_OBJ) $(SERVE_OBJ) $(EXPORT_OBJ) $(SQL_OBJ) \
	$(TERM_OBJ) $(CMD_OBJ)))
RELEASE := $(call remember,release,$(VERSION) $(COMMIT))

$(B)/%.o: %.c $(FLAGS) | need
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libsonde/version.o $(B)/cmd/version.o: $(RELEASE)
$(B)/libsonde/version.o: OWN_CFLAGS += -DSONDE_VERSION='"$(VERSION)"'
$(B)/cmd/version.o: OWN_CFLAGS += -DSONDE_COMMIT='"$(COMMIT)"'

$(B)/gen/syscalls-%.inc: tools/make-syscalls | need
	@mkdir -p $(@D)
	tools/make-syscalls $* "$(CC)" > $@.new && mv $@.new $@
$(B)/arch/x86/syscalls.o: $(B)/gen/syscalls-x86_64.inc
$(B)/arch/arm64/syscalls.o: $(B)/gen/syscalls-arm64.inc
$(B)/arch/x86/syscalls.o $(B)/arch/arm64/syscalls.o: OWN_CFLAGS += -I$(B)

ARCHIVES := $(addprefix $(B)/lib,$(addsuffix .a,sonde report record serve export sql term))
$(ARCHIVES): $(OBJECTS)
	@rm -f $@
	ar rcs $@ $(filter %.o,$^)
$(B)/libsonde.a: $(LIB_OBJ)

# What records is the program's alone: libsonde reads.
$(RECORD_OBJ): OWN_CFLAGS += $(RECORD_CFLAGS)
$(B)/librecord.a: $(RECORD_OBJ)

# What shows runs as text and pictures is for all that show any, and not for libsonde.
$(B)/libreport.a: $(REPORT_OBJ)

# What shows runs to browsers, and what writes other programs' formats, are the program's alone, too.
$(B)/libserve.a: $(SERVE_OBJ)
$(B)/libexport.a: $(EXPORT_OBJ)

# So are queries; other programs ask the same of an extension for SQLite, which takes in all it needs
# and calls SQLite only through what the program that loads it hands over.
$(SQL_OBJ): OWN_CFLAGS += -DSQLITE_CORE
$(B)/cmd/sql.o $(B)/cmd/answers/sql_output.o: OWN_CFLAGS += -DSQLITE_CORE
$(B)/libsql.a: $(SQL_OBJ)
$(B)/extension/%.o: %.c $(FLAGS) | need
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/sonde_sqlite.so: $(SQL_EXTENSION_OBJ) $(B)/libreport.a $(B)/libsonde.a
	$(CC) $(ALL_LDFLAGS) -shared -Wl,-z,defs -Wl,--exclude-libs,ALL -o $@ $^ $(REPORT_LIBS) $(ALL_LDLIBS)

# What has a terminal for itself, as well.
$(B)/libterm.a: $(TERM_OBJ)

# The page: built once for all builds, by tools/build-page; it says so when it cannot be, and leaves
# an empty directory, so that the program is built without it.
PAGE := build/web
PAGE_SRC := $(wildcard web/*.json web/*.html web/*.ts web/.npmrc web/src/*.ts web/src/*.css)
$(PAGE)/stamp: tools/build-page $(PAGE_SRC)
	@tools/build-page $(PAGE)
$(B)/serve/api/page.o: $(PAGE)/stamp
$(B)/serve/api/page.o: OWN_CFLAGS += $(shell cat $(PAGE)/flags 2>/dev/null)

# The BPF program, in a header with what libbpf needs to load it.
$(B)/gen/%.bpf.o: kernel/bpf/%.bpf.c $(wildcard kernel/bpf/*.h) channel/hypercalls.h channel/holdups.h \
		channel/origin.h channel/vm_limits.h
	@mkdir -p $(@D)
	$(BPF_CLANG) -target bpf -mcpu=v3 -O2 -g -std=gnu17 -ffreestanding -Wall -Wextra -Werror \
		-Wno-unused-parameter -I. -I/usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<
$(B)/gen/%.skel.h: $(B)/gen/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_skel > $@.new && mv $@.new $@
$(B)/record/tracers/hypercalls_bpf.o: $(B)/gen/hypertrace.skel.h
$(B)/record/steal/stolen_bpf.o: $(B)/gen/stolen.skel.h
$(B)/record/tracers/hypercalls_bpf.o $(B)/record/steal/stolen_bpf.o: OWN_CFLAGS += -I$(B)
# In place of record/*/*_bpf.c where there is no libbpf: always in the agent.
NO_BPF := $(B)/cmd/static/no_bpf.o

$(B)/sonde: $(CMD_OBJ) $(if $(HAVE_BPF),,$(NO_BPF)) $(B)/librecord.a $(B)/libserve.a \
	$(B)/libexport.a $(B)/libterm.a $(B)/libsql.a $(B)/libreport.a $(B)/libsonde.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(RECORD_LIBS) $(SERVE_LIBS) $(TERM_LIBS) $(SQL_LIBS) $(BPF_LIBS) $(REPORT_LIBS) $(ALL_LDLIBS)

# `sonde agent` alone, to be copied into guests: static, without the debug information.  (Sanitizers cannot be linked statically.)
AGENT_OBJ := $(addprefix $(B)/,$(addsuffix .o,cmd/static/agent cmd/agent cmd/common/complain cmd/common/duration cmd/common/limits \
	cmd/common/options cmd/help cmd/common/signals cmd/version libsonde/version))
$(B)/sonde-agent: $(B)/cmd/static/no_plugins.o $(NO_BPF) $(AGENT_OBJ) $(B)/librecord.a $(B)/libreport.a $(B)/libsonde.a
	$(CC) $(or $(strip $(SAN_FLAGS)),-static -s) -o $@ $^ $(RECORD_STATIC_LIBS) -lpthread

# The shared library shows what libsonde/include marks with SONDE_API.  The static one that is
# installed is a single object whose other names are hidden as well: they cannot meet a user's.
SONAME := libsonde.so.0
$(B)/$(SONAME): $(LIB_OBJ) $(OBJECTS) libsonde/libsonde.map
	$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=libsonde/libsonde.map -Wl,-z,defs -o $@ $(LIB_OBJ) $(ALL_LDLIBS)
$(B)/libsonde.so: $(B)/$(SONAME)
	ln -sf $(SONAME) $@
$(B)/installed/libsonde.a: $(LIB_OBJ) $(OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	ld -r -o $(B)/installed/sonde.o $(LIB_OBJ)
	objcopy --localize-hidden $(B)/installed/sonde.o
	ar rcs $@ $(B)/installed/sonde.o

PREFIX ?= /usr/local

MAN_SRC := $(wildcard docs/man/*.scd)
# A page for each header of libsonde that has functions of the library, and its text.
MAN3 := $(addprefix sonde_,$(addsuffix .3,analyze check events history tables time types))
MAN := $(if $(shell command -v scdoc),$(addprefix $(B)/man/,$(MAN_SRC:docs/man/%.scd=%) $(MAN3)))
man: $(MAN)
$(B)/man/sonde_%.3: libsonde/include/sonde/%.h tools/man3
	@mkdir -p $(@D)
	tools/man3 $< > $@.scd && scdoc < $@.scd > $@.new && mv $@.new $@
$(B)/man/%: docs/man/%.scd
	@mkdir -p $(@D)
	scdoc < $< > $@.new && mv $@.new $@

completion: $(B)/completion/sonde
$(B)/completion/sonde: $(B)/sonde
	@mkdir -p $(@D)
	$(B)/sonde --completion bash > $@.new && mv $@.new $@

install: all $(B)/installed/libsonde.a
	install -D -m 755 $(B)/sonde $(DESTDIR)$(PREFIX)/bin/sonde
	install -D -m 755 $(B)/sonde-agent $(DESTDIR)$(PREFIX)/bin/sonde-agent
	install -D -m 755 $(B)/$(SONAME) $(DESTDIR)$(PREFIX)/lib/$(SONAME)
	install -D -m 755 $(B)/sonde_sqlite.so $(DESTDIR)$(PREFIX)/lib/sonde_sqlite.so
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libsonde.so
	install -D -m 644 $(B)/installed/libsonde.a $(DESTDIR)$(PREFIX)/lib/libsonde.a
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@PRIVATE@|$(PKGS)|' libsonde/libsonde.pc.in \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/libsonde.pc
	install -D -m 644 bindings/python/sonde.py $(DESTDIR)$(PREFIX)/share/sonde/python/sonde.py
	install -d $(DESTDIR)$(PREFIX)/include/sonde
	install -m 644 libsonde/include/sonde/*.h $(DESTDIR)$(PREFIX)/include/sonde
	install -D -m 644 $(B)/completion/sonde \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/sonde
	ln -sf sonde $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sonde-agent
	$(if $(MAN),install -d $(sort $(foreach m,$(MAN),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $m)))))
	$(foreach m,$(MAN),install -m 644 $m \
		$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $m)) &&) true

# All that `install` puts there, and nothing else.
INSTALLED := share/sonde/python/sonde.py bin/sonde bin/sonde-agent lib/$(SONAME) lib/sonde_sqlite.so lib/libsonde.so lib/libsonde.a lib/pkgconfig/libsonde.pc \
	$(patsubst libsonde/%,%,$(wildcard libsonde/include/sonde/*.h)) share/bash-completion/completions/sonde share/bash-completion/completions/sonde-agent \
	$(foreach m,$(MAN_SRC:docs/man/%.scd=%) $(MAN3),share/man/man$(subst .,,$(suffix $m))/$m)
uninstall:
	rm -f $(INSTALLED:%=$(DESTDIR)$(PREFIX)/%)
	[ ! -d $(DESTDIR)$(PREFIX)/include/sonde ] || rmdir $(DESTDIR)$(PREFIX)/include/sonde

$(B)/tests/test_options: $(B)/cmd/common/options.o $(B)/cmd/common/duration.o
WRAP := -Wl$(comma)--wrap=
$(B)/tests/test_memory: ALL_LDFLAGS += $(addprefix $(WRAP),malloc calloc realloc reallocarray \
	aligned_alloc strdup)

tests: $(TESTS) $(TEST_TOOLS)
$(TESTS) $(B)/fuzz/fuzz_request $(B)/property/less_specific: OWN_LDLIBS += $(REPORT_LIBS)
$(B)/tests/test_record%: OWN_LDLIBS += $(RECORD_LIBS)
$(B)/tests/test_record%: $(B)/tests/unit/test_record%.o $(NO_BPF) $(B)/librecord.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(ALL_LDLIBS)
# It is the BPF program itself.
$(B)/tests/test_share: OWN_LDLIBS += $(RECORD_LIBS)
$(B)/tests/test_share: $(B)/tests/unit/test_share.o $(B)/librecord.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(ALL_LDLIBS)
$(B)/tests/test_export: $(B)/tests/unit/test_export.o $(B)/libexport.a $(B)/libreport.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(ALL_LDLIBS)
SERVE_TESTS := $(addprefix $(B)/tests/test_,api cache pattern serve tsp)
$(SERVE_TESTS): $(B)/tests/%: $(B)/tests/unit/%.o $(B)/libserve.a $(B)/libreport.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SERVE_LIBS) $(ALL_LDLIBS)
$(B)/tests/unit/test_sql.o: OWN_CFLAGS += -DSQLITE_CORE
$(B)/tests/test_sql: $(B)/tests/unit/test_sql.o $(B)/libsql.a $(B)/libreport.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(SQL_LIBS) $(ALL_LDLIBS)
$(B)/tests/test_term: $(B)/tests/unit/test_term.o $(B)/libterm.a $(B)/libreport.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(TERM_LIBS) $(ALL_LDLIBS)
$(B)/tests/%: $(B)/tests/unit/%.o $(B)/libreport.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(ALL_LDLIBS)

# Programs that script tests use.  Those that compare Sonde with a peer use the peer's library; where
# it is not installed, they are not built and their tests are skipped.
$(B)/clock/%: $(B)/tests/clock/%.o $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LDLIBS)
$(B)/agent/fake_agent: $(B)/tests/agent/fake_recorder.o $(B)/tests/agent/fake_rings.o $(NO_BPF) $(AGENT_OBJ) $(B)/librecord.a $(B)/libreport.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(RECORD_LIBS) $(ALL_LDLIBS)
$(B)/agent/gather: $(B)/tests/agent/gather.o $(NO_BPF) $(B)/librecord.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(RECORD_LIBS) $(ALL_LDLIBS)
# Runs in the lab's machines, so it is static.
KERNEL_TEST_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/kernel/*.c))
$(B)/kernel/hypertrace: $(KERNEL_TEST_OBJ) $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) -static -o $@ $^
$(B)/oracle/%: $(B)/tests/oracle/%.o $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LDLIBS)
PROPERTY_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/property/*.c))
$(B)/property/less_specific: $(PROPERTY_OBJ) $(B)/libreport.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LDLIBS)
$(B)/differential/%: $(B)/tests/differential/%.o $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LDLIBS)
$(B)/tests/differential/dat_compare.o $(B)/tests/differential/perf_data.o \
$(B)/bench/peer_tracecmd.o: \
	OWN_CFLAGS += $(shell pkg-config --cflags libtracecmd 2>/dev/null)
$(B)/differential/dat_compare $(B)/differential/perf_data $(B)/bench/peer_tracecmd: \
	OWN_LDLIBS += $(shell pkg-config --libs libtracecmd 2>/dev/null)

$(B)/tests/differential/ctf_compare.o: OWN_CFLAGS += $(shell pkg-config --cflags babeltrace2 2>/dev/null)
$(B)/differential/ctf_compare: OWN_LDLIBS += $(shell pkg-config --libs babeltrace2 2>/dev/null)

# What runs inside the lab's machines: static, since these have no libraries.  The workloads leave the
# FPU alone.
LAB_WORKLOADS := $(patsubst lab/workloads/%.c,$(B)/lab/%,$(filter-out %/workload.c,\
	$(wildcard lab/workloads/*.c)))
LAB_PROGRAMS := $(LAB_WORKLOADS) $(patsubst lab/guest/%.c,$(B)/lab/%,$(wildcard lab/guest/*.c))
LAB_CC = $(CC) -std=gnu17 -g -O2 -Wall -Wextra -Werror -pthread -static
lab-workloads: $(LAB_WORKLOADS)
lab-programs: $(LAB_PROGRAMS) $(B)/sonde $(B)/sonde-agent $(B)/oracle/ask_history \
	$(B)/clock/show_topology
$(B)/lab/%: lab/workloads/%.c lab/workloads/workload.c lab/workloads/workload.h
	@mkdir -p $(@D)
	$(LAB_CC) -mgeneral-regs-only -o $@ $< \
		$(if $(filter %/container,$@),,lab/workloads/workload.c)
$(B)/lab/%: lab/guest/%.c
	@mkdir -p $(@D)
	$(LAB_CC) -o $@ $<

# The guest's kernel module, for the kernel whose headers are in KDIR.  It shares channel/ with user
# space, so its sources are brought together first: the same directory is what DKMS takes.  Kernels that
# make a module's BTF need pahole for it; the module needs no BTF.
KDIR ?= /lib/modules/$(shell uname -r)/build
KRELEASE = $(or $(shell sed -n 's/^#define UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null),none)
GUEST_DIR = $(abspath $(B))/guest/$(KRELEASE)
GUEST_SRC := $(wildcard kernel/guest/*) channel/writer.c channel/records.c channel/writer.h \
	     channel/hypertrace.h channel/port.h channel/stolen.h
VMX_DIR = $(abspath $(B))/vmx/$(KRELEASE)
MAKE_MODULE = @test -e $(KDIR)/Makefile || { echo "make: no kernel headers in $(KDIR); set KDIR=" >&2; exit 1; }; \
	$(MAKE) -C $(KDIR) $(if $(shell command -v pahole),,CONFIG_DEBUG_INFO_BTF_MODULES=) modules
.PHONY: guest-module guest-source vmx-module
guest-source:
	@mkdir -p $(GUEST_DIR)/channel
	@cp -u $(wildcard kernel/guest/*) $(GUEST_DIR)
	@cp -u $(filter channel/%,$(GUEST_SRC)) $(GUEST_DIR)/channel
guest-module: guest-source
	$(MAKE_MODULE) M=$(GUEST_DIR)
vmx-module:
	@mkdir -p $(VMX_DIR)
	@cp -u $(wildcard kernel/vmx/*) $(VMX_DIR)
	$(MAKE_MODULE) M=$(VMX_DIR)

benches: $(BENCHES)
$(B)/bench/bench_history: $(B)/bench/history_stream.o
$(B)/bench/bench_tables $(B)/bench/bench_made: $(B)/bench/rows_time.o $(B)/cmd/common/heap.o
$(B)/bench/bench_made: $(addprefix $(B)/bench/made_,run.o tables.o)
$(B)/bench/%: $(B)/bench/%.o $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ALL_LDLIBS)

fuzz: $(FUZZERS)
FUZZ_MAIN := $(if $(FUZZ),,$(B)/tests/fuzz/replay.o)
FUZZ_RECORD := $(addprefix $(B)/fuzz/fuzz_,join vmm wire)
$(FUZZ_RECORD): OWN_LDLIBS += $(RECORD_LIBS)
$(FUZZ_RECORD): $(B)/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_MAIN) $(B)/librecord.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(if $(FUZZ),-fsanitize=fuzzer) -o $@ $^ $(ALL_LDLIBS)
$(B)/fuzz/fuzz_request: $(B)/tests/fuzz/fuzz_request.o $(FUZZ_MAIN) $(B)/libserve.a $(B)/libreport.a $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(if $(FUZZ),-fsanitize=fuzzer) -o $@ $^ $(ALL_LDLIBS)
$(B)/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_MAIN) $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(if $(FUZZ),-fsanitize=fuzzer) -o $@ $^ $(ALL_LDLIBS)

# These install first; make then starts again, because pkg-config answers differently afterwards.
demo:
	@tools/install-deps build
	@$(MAKE) --no-print-directory -s -j$$(nproc) all
	@tools/demo

# Debian's emulator loses most of the lab's runs (lab/qemu/README.md); ours takes five minutes to build, once.  QEMU=stock does without.
LAB_EMULATOR := $(if $(filter stock,$(QEMU)),true,{ tools/install-deps qemu && lab/qemu/build; } || echo "the lab's emulator is Debian's")

# Without the lab's packages the rest is still tested, and the live runs say that they were skipped; where all is there, in
# continuous integration, no test may be skipped but for the reasons in tests/may-skip.
check:
	@tools/install-deps build test
	@tools/install-deps lab || true
	@[ -z "$$CI" ] || $(LAB_EMULATOR)
	@tests/run $(if $(and $(CI),$(wildcard $(or $(SONDE_TRACES),../shared/traces))),--no-skips)

test: all tests
	@tests/run $(if $(K),--no-build -k $(K))

help:
	@sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

# Other versions of clang-format format otherwise.
C_FILES = $(shell git ls-files '*.[ch]')
format:
	@clang-format-14 -i $(C_FILES)
lint:
	@tools/lint

coverage:
	@$(MAKE) --no-print-directory -s -j$$(nproc) COVERAGE=1 all tests
	@tools/coverage build-cov $(K)

DIST := sonde-$(VERSION)
dist:
	@mkdir -p $(B)
	git archive --prefix=$(DIST)/ --add-virtual-file=$(DIST)/COMMIT:$$(git rev-parse HEAD) HEAD | xz -9 >$(B)/$(DIST).tar.xz
	cd $(B) && sha256sum $(DIST).tar.xz >$(DIST).tar.xz.sha256

bench:
	@tools/install-deps build test bench
	@$(MAKE) --no-print-directory -s -j$$(nproc) all benches
	@bench/run $(if $(BIG),--big)

# What the guest's module costs, beside ftrace and LTTng, in instructions and exits: the lab counts.
bench-guest:
	@tools/install-deps build lab
	@bench/guest

RUN ?= build/demo.sonde
bench-web:
	@tools/install-deps build test
	@$(MAKE) --no-print-directory -s -j$$(nproc) all
	@cd tests/web && npm ci --ignore-scripts --no-audit --no-fund >/dev/null
	@[ -e $(RUN) ] || build/sonde analyze -q samples/lttng -o $(RUN)
	@node bench/web.mjs build/sonde $(RUN)

# A nested KVM machine in software (lab/README.md): one scenario from end to end; all scenarios.
lab:
	@tools/install-deps build lab
	@$(LAB_EMULATOR)
	@$(MAKE) --no-print-directory -s -j$$(nproc) all lab-programs
	@lab/check -v three-level $(QEMU:%=--qemu %)

check-lab:
	@tools/install-deps build test lab
	@$(LAB_EMULATOR)
	@$(MAKE) --no-print-directory -s -j$$(nproc) all lab-programs
	@lab/check --every-kernel --resume --tries 5 $(QEMU:%=--qemu %)

clean:
	rm -rf build build-san build-tsan build-clang build-fuzz build-cov

# (What the lab keeps below $(B)/lab is not ours to read.)
-include $(shell find $(B) -path $(B)/lab -prune -o -name '*.d' -print 2>/dev/null)
.SECONDARY:
