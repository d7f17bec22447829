/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATE_STATE_H
#define MODEL_STATE_STATE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strings.h"
#include "clock/topology.h"
#include "history/history.h"
#include "model/model.h"
#include "model/state/contexts.h"
#include "model/state/requests.h"
#include "model/state/rows.h"
#include "model/state/wakes.h"
#include "arch/exits.h"
#include "source/leaves.h"
#include "source/origin.h"
#include "source/state_line.h"
#include "source/symbols.h"

/*
 * What the model knows at the current moment; private to model/.
 *
 *	machine	a kernel: L0, or a VM at any depth, with or without a trace of its own
 *		(struct machine_state; the topology's struct machine is what it comes from)
 *	cpu	a CPU of a machine.  A VM's CPU is a vCPU: beside the state that its own trace
 *		gives it, it has the state that its parent's KVM events give it (struct vcpu)
 *	thread	one incarnation of a TID in a machine
 *
 * What only becomes a row of a table is in rows.h; requests are in requests.h, waits in wakes.h.
 *
 * All of them live in the model's arena, so pointers to them stay good; each also has a number,
 * the order in which it was made.
 */

struct nest;
struct space;

/* A guest with a trace that was seen to run in a VM without one. */
struct held {
	struct machine_state *guest;
	struct held *next;
};

enum nested {
	NESTED_UNKNOWN, /* the trace began, or lost events, since it last showed */
	NESTED_NO,	/* entering runs the VM itself */
	NESTED_YES,	/* entering runs a VM inside the VM */
};

/* How a rest began; unknown where that was not seen. */
enum halted {
	HALTED_UNKNOWN,
	HALTED_UNSEEN,
	HALTED_NO,
	HALTED_YES
}; /* UNSEEN: its exit was lost */

/* A vCPU as its parent's kernel sees it. */
struct vcpu {
	struct thread *host; /* thread of the parent that runs it; NULL unknown */
	bool entered;	     /* between VM entry and VM exit */
	bool starting;	     /* the VM executed VMRUN (VMLAUNCH, VMRESUME): being handled */
	bool vmenter;	     /* ... and an event confirmed it */
	uint8_t nested;	     /* enum nested */
	int64_t reason;	     /* of the last exit; -1 unknown */
	uint8_t life;	     /* how far its start has come: see milestones.c */
	ns_t entered_ns;     /* when it was entered last; 0 never */
	ns_t exited_ns;	     /* when it exited last; 0 never */
	uint32_t exit;	     /* what "exit" holds now: row of table "exit" + 1; 0 in guest mode */
	bool reason_told;    /* ... by the host, before its own hypervisor's exit event */
	struct cpu *served; /* innermost vCPU that ran until the last exit; NULL: a guest of it, not
			       known which */
	bool seen;	    /* an entry or exit was seen since the last loss */
	int32_t vmm;	    /* reason for which the VMM handles the exit; -1 it does not */
	bool resting;	    /* halted, or its thread fell asleep; until the next entry */
	uint8_t halted;	    /* enum halted: by its own will? an exit or kvm_vcpu_wakeup says */
	bool waited;	    /* ... and slept or polled */
	bool woken;	    /* ... and its thread has been woken */
	ns_t rest_at;	    /* when it began */
	struct note note;   /* what has ended or will end this rest, as far as known */
	const struct cpu *noted_on; /* CPU on which that was delivered; NULL it is no delivery */
	bool missed;		    /* ... what was delivered to an unknown vCPU may be for it */
	bool slept_unseen;	    /* ... it may have slept before, in the same halt, unseen */
	int16_t injected;	    /* first vector injected since it began; -1 none */
	int16_t delivered; /* last vector that its kernel has not yet shown to handle; -1 none */
	struct kick kick;
	struct nest *
		nest; /* what its entries of nested guests tell: nested_waits.h; NULL nothing yet */
	struct cpu *sleeps_on; /* a nested one: the outer vCPU whose list of sleepers it is in; or
				  NULL */
	struct cpu *next_sleeper;
	struct cpu *nested_cpu; /* the nested vCPU that the VM entered last, as told by the address
				   of its vmcb12/vmcs12; NULL unknown */
	struct cpu *nested_in;	/* the vCPU that entered this one last, as told by that address; or
				   NULL */
	bool stays;	  /* a nested guest has been entered, and no exit given to its VM yet: see
			     traced_nested.h */
	ns_t stay_at;	  /* ... since then */
	struct cpu *told; /* the guest's CPU of which an event lies in it; NULL none yet */
	ns_t told_at;	  /* ... when */
	struct cpu *told_before; /* what @nested_cpu was before that was believed */
	uint32_t nr_told; /* of a nested one: in so many stays @told was the guest's CPU ... */
	bool disputed;	  /* ... and in others it was another */
	struct cpu *next_inside; /* in model->inside */
	bool listed;		 /* ... it is in it */
};

#define IRQ_DEPTH 8

struct irq_frame {
	uint32_t mode; /* MODE_IRQ, MODE_SOFTIRQ; MODE_UNKNOWN: perhaps none, see
			  cpu_doubt_handlers() */
	int32_t detail;
};

struct cpu {
	struct machine_state *machine;
	int number; /* -1 stands for any */
	uint32_t index;
	struct cpu *merged_into; /* turned out to be that one; else NULL */
	struct cpu *next_of_machine;
	struct cpu *next_unhalted; /* of machine->unhalted ... */
	bool in_unhalted;	   /* ... it is in it */
	struct cpu *next_handed,
		*next_kicked;	   /* of machine->handed, and of its parent's ->kicked ... */
	bool in_handed, in_kicked; /* ... it is in them */
	uint64_t nested_id;	   /* address of its vmcb12/vmcs12; 0 unknown or not nested */
	uint64_t nested_pgd;	   /* its nested page table, last seen */
	struct cpu *any_of; /* it stands for all nested vCPUs of that one which nothing tells apart;
			       NULL: no */
	struct cpu *any_inner; /* of a vCPU: what stands for its own; NULL none */
	char path[128];	       /* of its attributes in the history; \"\" when it has none */
	struct thread *thread; /* runs now; NULL unknown */
	struct thread *idle;   /* its TID 0; NULL not seen yet */
	struct space *space;   /* of a VM without a trace: the one it is in; NULL unknown */
	ns_t arrived_ns;     /* in it, from another one, and it has not exited since; else NS_MAX */
	struct thread *left; /* threads that last ran here and run nowhere now */
	bool lost;	     /* events were lost on it, and nothing has told since who runs */
	ns_t lost_until;     /* ... what tells before is of one moment only */
	uint32_t loss;	     /* ... in model->losses */
	ns_t heard_at;	     /* its last event */
	ns_t denied_at;	     /* of a vCPU: see uncounted_gap.c */
	ns_t due_at;	     /* since then it should have stirred */
	uint32_t nr_due;     /* ... so many times */
	bool met;	     /* its thread was not seen to get it */
	bool in_doubt;	     /* whoever runs may have left it unseen: see unseen_switch.c */
	bool torn;	     /* the switch to whoever runs was lost: see source/leaves.h */
	bool goes_down;	     /* a step that another CPU takes to switch it off has begun */
	bool guest_of_unknown; /* after a VM entry of which we cannot tell the vCPU */
	unsigned nr_irqs;
	struct irq_frame irqs[IRQ_DEPTH];
	uint8_t acts_for;     /* FOR_ bits of the code that executes, until it is left */
	bool routes;	      /* it has sent a device's interrupt on its way */
	bool sends;	      /* it has seen a vCPU send an interrupt */
	struct note delivery; /* ... and delivered it, last */
	int delivered_to;     /* ... to the vCPU of this number */
	ns_t delivered_at;
	struct tap *tap;    /* the device to which it has handed a packet; NULL none */
	int32_t irq_vector; /* of the last interrupt; -1 one of a device, or none yet */
	ns_t irq_at;
	uint8_t named_vectors[32]; /* bits: those whose name vector.c has read */
	struct handler handler;	   /* of a VM's CPU: the last of a line */
	struct thread *lost_by;	   /* vCPU's thread that was preempted here last; NULL none */
	struct vcpu vcpu;	   /* of a VM's CPU */
	uint8_t vcpu_state;	   /* enum vcpu_state: what "state" holds now */
	bool known;	      /* whether what it is on, out to L0, is known: see cpu_reveal() */
	struct context shown; /* L0: what "runs" holds now */
	attr_t dir;	      /* of a vCPU's attributes where its VM has no trace */
	attr_t runs, task;    /* ATTR_NONE when there is none */
	uint8_t lost_for;     /* of a VM's CPU: enum why_off, what "why_off" holds now */
	bool was_throttled;   /* it is in its host's list of these */
	struct cpu *next_throttled;
	attr_t state, on, woken, why_off;
	attr_t exit;  /* of a vCPU that a thread runs */
	uint32_t row; /* in the table; final at the end */
};

enum thread_kind { KIND_UNKNOWN, KIND_USER, KIND_KERNEL };
enum thread_mode { WHERE_UNKNOWN, WHERE_USER, WHERE_SYSCALL };

#define COMM_LEN 16

/* What threads have in common: see peers.h. */
enum peers { PEERS_PROCESS, PEERS_QUEUE, NR_PEERS };

struct peer {
	struct thread *next, *before;
	int32_t number; /* -1 none */
};

struct thread {
	struct machine_state *machine;
	struct thread *next_of_machine;
	uint32_t row;
	int32_t tid;
	int32_t pid;   /* thread group; -1 unknown */
	int32_t ppid;  /* -1 unknown */
	int32_t maker; /* TID that forked it; -1 unknown */
	uint8_t state; /* enum thread_state */
	uint8_t kind;  /* enum thread_kind */
	uint8_t where; /* enum thread_mode: goes on where it was when it was switched out */
	bool exiting;
	bool in_softirq;      /* switched out inside one (PREEMPT_RT) */
	bool in_doubt;	      /* woken for a CPU in doubt: it waits for it, or runs there unseen */
	struct leaves leaves; /* how it left its CPUs: see unseen_switch.c */
	uint8_t asked; /* how many of its events were asked for its namespace: see namespace.h */
	int32_t softirq;
	uint32_t syscall; /* string id of its name; 0 unknown */
	uint32_t losses;  /* machine->losses when we last knew all about it */
	struct cpu *on;	  /* CPU it runs on; NULL none or unknown */
	struct cpu *last_on;
	struct thread **listed; /* what points to it in last_on->left; NULL not in the list */
	struct thread *next_left;
	struct thread **offed; /* what points to it in machine->off; NULL not in the list */
	struct thread *next_off;
	int first_cpu;			 /* number of the first CPU it was seen on; -1 none yet */
	struct cpu *vcpu;		 /* the vCPU it is; NULL none */
	uint8_t acts_for;		 /* FOR_ bits: what it was woken for */
	bool picks_up;			 /* it was woken to work for a VM, and has not run since */
	struct machine_state *works_for; /* that VM; NULL none yet */
	struct thread
		*woken_by;     /* who woke it last: no vCPU's thread and no interrupt; NULL none */
	ns_t woken_in;	       /* ... while that one ran from then on */
	struct tap *taps;      /* devices out of which it seems to take packets */
	ns_t woken_at, ran_at; /* last; NS_MIN not yet */
	char comm[COMM_LEN];
	uint32_t comm_id, first_comm_id;
	uint32_t vtids;	   /* newest entry of model->vtids + 1 */
	uint32_t cgroup;   /* index of model->cgroups + 1; 0 unknown */
	int32_t queued_on; /* number of the CPU it waited for last while it could run; -1 unknown */
	ns_t begin, end;   /* end NS_MAX: still there */
	struct peer peers[NR_PEERS];
	ns_t process_since; /* its process was made then; NS_MIN that was not seen */
	attr_t dir, state_attr, cpu_attr, comm_attr, waker_attr;
};

struct machine_state {
	struct model *model;
	uint32_t index;
	struct machine_state *parent;	   /* NULL for L0 */
	struct machine_state *merged_into; /* turned out to be that one; else NULL */
	struct machine_state *turned_out;  /* ... one with a trace, which counts from the end on */
	struct held *holds;		   /* those with a trace that were seen to run in it */
	bool runs_nested;		   /* a guest of it was seen to run */
	struct machine_state *runs_in; /* of such a guest: the VM in which it was seen; else NULL */
	bool disputed;		       /* ... or in another one */
	bool nests;		       /* a vCPU of it has a struct nest: nested_waits.h */
	struct nest *sleeping;	       /* those of its vCPUs on which nested ones sleep, or did */
	struct cpu *unhalted; /* its vCPUs that have not halted, and others that have since */
	bool shows_waits;     /* a nested vCPU that sleeps in it may be shown to wait ... */
	bool in_showing;      /* ... it is in model->showing */
	struct machine_state *next_showing;
	struct cpu *handed; /* its CPUs to which interrupts were sent since it lost events, and
			       others */
	struct cpu *kicked; /* its guests' that may have told a device of something since then, and
			       others */
	struct machine_state *at_work; /* its guests with any of that, or with requests under way
					  then, and others ... */
	struct machine_state *next_at_work;	/* of its parent's */
	bool in_at_work;			/* ... it is in it */
	struct machine_state *busy, *next_busy; /* the same of those with requests under way now */
	bool in_busy;
	struct tap *tapped;		   /* its devices to which packets were handed since then */
	bool counted;			   /* among its parent's: vm_counts.h */
	uint32_t nr_counted;		   /* of its own VMs */
	uint32_t compared;		   /* with others, when there were so many CPUs ... */
	bool alone;			   /* ... none of which may be its own */
	const struct machine_state *maybe; /* ... else one that may be it */
	unsigned level;
	struct trace *trace;		 /* NULL: no trace of its own */
	const struct clock_model *clock; /* its ticks to L0's time; NULL without a trace */
	char name[96];
	char vm_name[64]; /* what its VMM calls it; "" unknown */
	bool listed;	  /* its parent's state lines tell of it */
	char evidence[MACHINE_EVIDENCE];
	struct cpu *first_cpu, *last_cpu; /* all of them */
	struct cpu **cpus;		  /* by number; owned; holes are NULL */
	unsigned nr_cpus;
	unsigned nr_threadless; /* of @cpus: it is not known which thread they run */
	uint8_t *recorded; /* CPUs that its trace has anything of, a bit each: see unseen_switch.c;
			      NULL not looked for yet */
	struct thread *threads; /* newest first */
	struct thread *off;	/* those that are known to be on no CPU, and not dead */
	struct space *spaces;	/* newest first */
	uint32_t nr_spaces;
	uint8_t nr_plain;      /* exits that show that user space and kernel share a page table */
	uint32_t nr_processes; /* at the end: numbered so far, and the sums of their spaces */
	uint64_t nr_arrivals;
	ns_t doubt;
	int32_t vm_pid; /* process of the parent that is this VM; -1 unknown */
	bool pid_known;
	bool sees_interrupts;  /* interrupt handlers are recorded in its trace */
	bool sees_vmenter;     /* nested entries are recorded in its trace */
	bool sees_kvm;	       /* VM entries or exits are */
	bool sees_halts;       /* ends of halts are */
	bool sees_deliveries;  /* interrupts sent to vCPUs are */
	bool sees_injections;  /* interrupts given to vCPUs are */
	int32_t timer_vector;  /* of its own local timer; -1 unknown */
	bool sees_requests;    /* requests to block devices are */
	bool sees_queues;      /* ... put into schedulers' queues */
	bool sees_packets;     /* packets handed to network devices are */
	bool has_init;	       /* its thread 1 is known to have executed a file */
	bool booted_init;      /* ... in a boot that is told afterwards */
	uint32_t boot_level;   /* string id: its initcalls' level; 0 none yet */
	uint32_t booted_level; /* ... of a boot that is told afterwards */
	bool symbols_read;
	struct symbols symbols;		  /* when first wanted */
	struct pending pending;		  /* requests under way */
	struct unsent unsent;		  /* packets for which nobody has been kicked */
	struct places places;		  /* of its disks on those of its parent */
	struct handler disk_handler;	  /* its last handler of a disk's interrupt */
	bool sees_throttles;		  /* cgroups whose quota is used up are recorded */
	struct map throttled;		  /* of its cgroup and CPU -> how often: see throttle.c */
	struct cpu *vcpus_throttled;	  /* that its threads run, since its last loss */
	bool sees_waking;		  /* wake-ups are recorded where they come from */
	bool sees_namespaces;		  /* contexts of events say who runs in which */
	uint16_t namespace_misses;	  /* ... until then: how many did not */
	int32_t new_tid;		  /* of the last new-task event */
	bool new_is_thread;		  /* ... made within its maker's process */
	uint32_t losses;		  /* how many losses there were in its trace */
	uint32_t nr_nested;		  /* nested VMs named by number so far, at the end */
	struct machine_state *any_nested; /* its nested VMs that nothing tells apart; NULL none */
	uint32_t *syscall_ids;		  /* owned: string ids by type (LTTng) or number, + 1 */
	uint32_t nr_syscall_ids;
	uint32_t nr_uncovered; /* CPUs that its trace does not cover now: no stream, or not now */
	ns_t bound_ns;	       /* of its clock, now; -1 unknown */
	uint32_t nr_lost;      /* CPUs with events lost, of which nothing is known yet again */
	ns_t seen_since;       /* all of its CPUs are, at the earliest; NS_MIN from the start */
	ns_t lost_until;       /* events of one of its CPUs are lost up to then */
	uint64_t violations;   /* its events at times its vCPU was not running it */
	struct call_origins
		*origins; /* of its guests' hypercalls: see hypercalls.c; NULL none yet */
	uint32_t refused[NR_REFUSED][HT_ORIGIN_KERNEL + 1]; /* of its own: row + 1; 0 none yet */
	ns_t marks_since;				    /* a second begins, in which */
	uint32_t skipped[2]; /* calls, marks of its processes that the recorder did not write */
	uint32_t marks_in_s, nr_marks; /* it made so many marks by hypercall; in all */
	bool ended;		       /* its trace has */
	bool traced_any;	       /* at least one event of its own trace came */
	ns_t traced_from, traced_to;   /* then: the first one and the last one */
	struct state_block block;      /* of state lines */
	uint32_t nr_blocks;	       /* begun so far: the number of the one at hand */
	ns_t block_begin;
	uint32_t block_losses; /* @losses when it began */
	uint64_t block_tasks;  /* threads listed in it */
	attr_t dir, threads_dir, vcpus_dir, clock_bound;
	uint32_t row; /* in the table; final at the end */
};

/* A page table that a vCPU of a VM without a trace was seen to use: see address_space.c. */
struct space {
	struct machine_state *vm;
	struct space *next_of_vm;
	uint64_t page;	       /* its address as it was first seen */
	uint64_t key;	       /* in by_space */
	struct thread *thread; /* stands for whatever runs in it */
	uint32_t times;	       /* that a vCPU was found in it after another one */
	ns_t doubt;	       /* guest time in which it may have come there later, all together */
};

/* A VM that a machine's state lines list. */
struct listed_vm {
	struct machine_state *host;
	uint32_t block; /* of the host's: numbers of VMs mean something in one only */
	int32_t pid;	/* -1 unknown */
	struct machine_state *machine; /* what it turned out to be; NULL not known yet */
	char name[64], uuid[40], manager[32];
};

/* A thread known by TID to run a vCPU before any of its events said so. */
struct hint {
	struct machine_state *vm;
	int32_t tid;
	int vcpu;
};

enum moment_kind {
	MOMENT_BOUND,	  /* the machine's clock bound changes to @value */
	MOMENT_END,	  /* its trace ends */
	MOMENT_CPU_BEGIN, /* ... begins to cover CPU @value */
	MOMENT_CPU_END,	  /* ... does so no more, though others go on */
	MOMENT_RUNS,	  /* thread @tid has CPU @value, and has had it before its first event */
	MOMENT_GAP,	  /* number @value of model->gaps begins */
};

struct moment {
	ns_t t;
	struct machine_state *machine;
	enum moment_kind kind;
	uint32_t value;
	int32_t tid;
};

struct model {
	const struct topology *topo;
	struct model_gaps *gaps; /* the caller's; NULL: it wants none */
	struct history_writer *w;
	struct arena arena;
	int broken; /* first error (-ENOMEM) */
	ns_t now;
	ns_t begin;
	bool begun;
	const struct stream *stream;	 /* of the event at hand, for fields by name */
	const struct clock_model *clock; /* ... of its machine, to L0 */

	struct machine_state **machines; /* [0 .. topo->nr_machines) as in the topology */
	uint32_t nr_machines, machines_room;
	struct cpu *first_cpu, *last_cpu; /* all of them */
	struct cpu **cpus;		  /* by index */
	uint32_t nr_cpus, cpus_room;
	struct thread **threads; /* by row */
	uint32_t nr_threads, threads_room;
	struct map by_number;	    /* machine << 32 | number -> its first CPU of that number */
	struct map by_tid;	    /* machine << 32 | tid -> row of the living incarnation */
	struct map peers[NR_PEERS]; /* machine << 32 | number -> row of the first: peers.h */
	struct map hosted_numbers;  /* machine << 32 | number: see vm_counts.h ... */
	struct map vms_numbered;    /* ... its parent << 32 | number -> how many */
	struct map vms_of_process;  /* ... its parent << 32 | pid -> how many */
	struct map vm_by_pid;	    /* machine << 32 | pid -> machine that is this VM */
	struct map by_vmcb;	    /* see vcpu.c */
	uint32_t nr_between;	    /* machines with a trace in VMs without one */
	struct stay_end {
		struct cpu *of;
		ns_t at;
	} stays_began[2], stays_ended[2]; /* see traced_nested.c */
	struct cpu *inside; /* vCPUs in which a nested guest may execute, and others */
	struct cpu *due;    /* the vCPU whose stay is to be looked at again */
	ns_t due_at;	    /* ... when; NS_MAX none */
	struct map by_pgd;
	struct strings names;	 /* of machines: to make them unique */
	struct map name_numbers; /* ... string id -> the last number behind it */
	struct map wakeups;	 /* see one_vm.c */
	struct hint *hints;
	unsigned nr_hints;

	struct map by_space; /* see address_space.c */
	struct space **spaces;
	uint32_t nr_spaces, spaces_room;

	uint64_t secret; /* of hashes of what traces say (base/hash.h) */
	struct context_table contexts;
	struct exit_kind *exits;
	uint32_t nr_exits, exits_room;
	struct map by_exit; /* see exits.c */
	struct milestone *milestones;
	uint32_t nr_milestones, milestones_room;
	struct initcall *initcalls;
	uint32_t nr_initcalls, initcalls_room;
	struct pid_ns *namespaces;
	uint32_t nr_namespaces, namespaces_room;
	struct map by_inum;
	struct vtid *vtids;
	uint32_t nr_vtids, vtids_room;
	struct cgroup *cgroups;
	uint32_t nr_cgroups, cgroups_room;
	struct machine_state *showing; /* whose sleepers may be shown to wait, and others */
	struct map by_cgroup;	       /* machine and id -> index */
	struct map by_cgroup_path;     /* hash of machine and path -> index + 1 */
	struct identity *identities;
	uint32_t nr_identities, identities_room;
	struct listed_vm *listed;
	uint32_t nr_listed, listed_room;
	struct map by_listed; /* host << 32 | number -> newest of that number */
	struct stat_line *stats;
	uint32_t nr_stats, stats_room;
	struct mark *marks;
	uint32_t nr_marks, marks_room;
	uint64_t marks_dropped;
	struct kept_event *kept_events;
	uint32_t nr_kept_events, kept_events_room;
	uint64_t kept_events_dropped;
	struct refused *refused;
	uint32_t nr_refused, refused_room;
	struct request *requests; /* that have ended */
	uint32_t nr_requests, requests_room;
	uint32_t nr_packets; /* of them */
	uint32_t request_serial;
	uint64_t requests_dropped;
	struct tap **taps; /* each in the arena */
	uint32_t nr_taps, taps_room;
	struct map by_tap;  /* machine << 32 | name -> index of taps */
	bool blocks_missed; /* guests' blocks were met that nobody had read: see model.h */
	struct map ended;   /* machine << 32 | tid -> the block it ended in */
	struct wakes wakes;
	struct loss *losses;
	uint32_t nr_losses, losses_room;
	uint32_t nr_foreseen; /* of them: on the agenda before the first event ... */
	struct map
		by_foreseen; /* ... machine << 32 | CPU -> the first of its, which stand together */
	struct moment *moments;
	uint32_t nr_moments, next_moment;
	ns_t next_moment_t; /* NS_MAX: none left */

	struct problems problems;
	uint64_t nr_problem_rows, nr_note_rows; /* of table "problem" */
	int tables[NR_TABLES];			/* the history's numbers */
	uint32_t nr_written[NR_TABLES];		/* rows that the history has */
	uint32_t nr_syncs;
};

/*
 * Nothing that handles an event can return an error: a history that lacks a row is not told apart
 * from a sound one by those who read it.  So the first allocation that fails is kept in m->broken,
 * events go on without what was to be stored, and model_close() fails.
 */
void model_no_memory(struct model *m);
/* Room for one more in a growing array; 0 or -ENOMEM, kept in m->broken. */
int model_grow(struct model *m, void **list, uint32_t nr, uint32_t *room, size_t each_bytes);
/* map_put(), whose failure is kept in m->broken. */
void model_put(struct model *m, struct map *map, uint64_t key, uint32_t value);

static inline void model_set(struct model *m, attr_t attr, uint32_t value)
{
	if (attr != ATTR_NONE)
		history_writer_set(m->w, attr, m->now, value);
}

static inline uint64_t pair_key(const struct machine_state *mc, uint32_t low)
{
	return (uint64_t)mc->index << 32 | low;
}

#endif
