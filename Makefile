# SPDX-License-Identifier: Apache-2.0
# make            build/sonde, build/libsonde.a, build/libsonde.so
# make demo       install what is needed (Debian), build, analyse the shipped samples
# make check      all tests
# make bench      timings beside peers
# make SANITIZE=1 with address and undefined-behaviour sanitizers, in build-san/

CC ?= gcc
B := $(if $(SANITIZE),build-san,build)
OPT ?= $(if $(SANITIZE),-O1,-O2)
PKGS := libzstd zlib libxxhash jansson smartcols
SAN_FLAGS := $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-sanitize-recover=all)
comma := ,
CFLAGS += -std=gnu17 -g $(OPT) -Wall -Wextra -Werror -fno-strict-aliasing -fvisibility=hidden \
	  -fPIC -I. -Iinclude $(subst $(space),,$(SAN_FLAGS)) $(shell pkg-config --cflags $(PKGS))
LDLIBS += $(shell pkg-config --libs $(PKGS)) -lpthread -lm
LDFLAGS += $(SAN_FLAGS)

# The folders in the order of the data; a folder uses only what stands before it
# (tools/check-layers).
LIB_DIRS := base source source/ctf source/dat clock merge model history analysis report lib
LIB_SRC := $(wildcard $(LIB_DIRS:%=%/*.c))
CMD_SRC := $(wildcard cmd/*.c)
TEST_SRC := $(wildcard tests/unit/test_*.c)
BENCH_SRC := $(wildcard bench/bench_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)

LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
CMD_OBJ := $(CMD_SRC:%.c=$(B)/%.o)
TESTS := $(TEST_SRC:tests/unit/%.c=$(B)/tests/%)
BENCHES := $(BENCH_SRC:bench/%.c=$(B)/bench/%)

.PHONY: all clean tests benches
all: $(B)/sonde

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libsonde.a: $(LIB_OBJ)
	@rm -f $@
	ar rcs $@ $^

$(B)/sonde: $(CMD_OBJ) $(B)/libsonde.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

tests: $(TESTS)
$(B)/tests/%: $(B)/tests/unit/%.o $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

benches: $(BENCHES)
$(B)/bench/%: $(B)/bench/%.o $(B)/libsonde.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

clean:
	rm -rf build build-san

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.SECONDARY:
