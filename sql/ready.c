/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/ready.h"
#include "base/types.h"

#include <string.h>

/* Lengths are told in ms with three digits behind the point, shares in percent with one. */
#define MS(column) "round((" column ") / 1e6, 3)"
#define PERCENT(column) "round((" column ") / 1e4, 1)"
#define SECONDS(column) "printf('%d.%09d', " column " / 1000000000, " column " % 1000000000)"

/* clang-format off */
const struct ready_query ready_queries[] = {
	{"why", "What cost the most time, and because of whom?",
	 "select " MS("cost") " as ms, " PERCENT("share") " as percent, text\n"
	 "from why order by cost desc"},

	{"stolen", "Who had the CPU while which vCPU was runnable?",
	 "select vcpu, culprit_machine, coalesce(culprit, mode) as culprit, mode,\n"
	 "       " MS("total") " as ms, " PERCENT("share") " as percent, count,\n"
	 "       " MS("longest") " as longest_ms, " SECONDS("longest_at") " as longest_at\n"
	 "from preemption order by total desc limit 30"},

	{"victims", "Which guest threads were delayed by preemption, and by whom?",
	 "select vcpu, victim, culprit_machine, coalesce(culprit, mode) as culprit,\n"
	 "       " MS("total") " as ms, count, " MS("longest") " as longest_ms\n"
	 "from preemption_victim order by total desc limit 30"},

	{"neighbours", "How much CPU time did VMs take from each other?",
	 "select c.machine as loser, p.culprit_machine as taker, " MS("sum(p.total)") " as ms,\n"
	 "       sum(p.count) as times, " MS("max(p.longest)") " as longest_ms\n"
	 "from preemption p join cpus c on c.row = p.vcpu_row\n"
	 "where p.culprit_machine is not null and p.culprit_machine <> c.machine\n"
	 "group by 1, 2 order by sum(p.total) desc"},

	{"total-steal", "How much steal time does each vCPU have, inherited steal included?",
	 "select vcpu, parent, " MS("on_cpu") " as on_cpu_ms, " MS("steal") " as steal_ms,\n"
	 "       " MS("inherited_steal") " as inherited_ms, " MS("total_steal") " as total_ms,\n"
	 "       " PERCENT("total_steal_share") " as total_percent, " MS("waiting") " as waiting_ms,\n"
	 "       " MS("unknown") " as unknown_ms, note\n"
	 "from vcpu_time order by total_steal desc"},

	{"steal", "What is behind the steal time that guests see?",
	 "select vcpu, " MS("steal") " as steal_ms, " MS("guest") " as guest_counted_ms,\n"
	 "       " MS("queued") " as queued_ms, " MS("slice") " as slice_ms,\n"
	 "       " MS("wakeup") " as wakeup_ms, " MS("class") " as realtime_ms,\n"
	 "       " MS("throttled") " as throttled_ms, " MS("unknown") " as unknown_ms\n"
	 "from steal order by steal desc"},

	{"machines", "Which machines used the CPUs?",
	 "select machine, level, " MS("total") " as ms, " PERCENT("share") " as percent,\n"
	 "       " MS("user") " as user_ms, " MS("syscall + kernel + task") " as kernel_ms,\n"
	 "       " MS("irq + softirq") " as irq_ms, " MS("hypervisor") " as hypervisor_ms,\n"
	 "       " MS("idle") " as idle_ms, " MS("unknown") " as unknown_ms\n"
	 "from machine_time order by total desc"},

	{"containers", "Which containers used the CPUs, on the host and in VMs?",
	 "select container, machine, level, " MS("total") " as ms, " PERCENT("share") " as percent,\n"
	 "       " MS("user") " as user_ms, " MS("syscall") " as syscall_ms\n"
	 "from container_time order by total desc"},

	{"processes", "Which processes used the CPUs, on all machines?",
	 "select machine, pid, comm, pid_ns as container, " MS("total") " as ms,\n"
	 "       " PERCENT("share") " as percent, " MS("user") " as user_ms,\n"
	 "       " MS("syscall") " as syscall_ms, " MS("hypervisor") " as hypervisor_ms\n"
	 "from process_time order by total desc limit 30"},

	{"cpus", "How busy was each physical CPU?",
	 "select cpu, " PERCENT("(total - idle - unknown) * 1e6 / total") " as busy_percent,\n"
	 "       " MS("guest + user + syscall + kernel + task") " as threads_ms,\n"
	 "       " MS("irq + softirq") " as irq_ms, " MS("hypervisor") " as hypervisor_ms,\n"
	 "       " MS("idle") " as idle_ms, " MS("unknown") " as unknown_ms\n"
	 "from cpu_time where total > 0 order by cpu_row"},

	{"running", "What ran on each physical CPU at the beginning of the window?",
	 "select s.cpu, c.machine, c.thread, c.container, c.mode, c.what,\n"
	 "       " MS("s.end - s.begin") " as ms\n"
	 "from history r join states s left join contexts c on c.row = s.value\n"
	 "where s.kind = 'runs' and s.begin <= r.window_begin and s.end > r.window_begin\n"
	 "order by s.cpu_row"},

	{"syscalls", "Which system calls took CPU time?",
	 "with ran as (select value, sum(length) as ns, count(*) as intervals from states\n"
	 "             where kind = 'runs' group by value)\n"
	 "select c.machine, c.what as syscall, " MS("sum(ns)") " as ms, sum(intervals) as intervals\n"
	 "from ran join contexts c on c.row = ran.value where c.mode = 'syscall'\n"
	 "group by 1, 2 order by sum(ns) desc limit 30"},

	{"interrupts", "Which interrupts took CPU time?",
	 "with ran as (select value, sum(length) as ns, count(*) as intervals from states\n"
	 "             where kind = 'runs' group by value)\n"
	 "select c.machine, c.mode, c.detail as number, c.what as name, " MS("sum(ns)") " as ms,\n"
	 "       sum(intervals) as intervals\n"
	 "from ran join contexts c on c.row = ran.value where c.mode in ('irq', 'softirq')\n"
	 "group by 1, 2, 3, 4 order by sum(ns) desc limit 30"},

	{"migrations", "How often did vCPUs move to another CPU?",
	 "with runs as (select cpu, cpu_row, value,\n"
	 "                     lag(value) over (partition by cpu_row order by begin) as before\n"
	 "              from states where kind = 'on' and value is not null)\n"
	 "select cpu as vcpu, count(*) as intervals, count(distinct value) as cpus,\n"
	 "       sum(value <> before) as moves\n"
	 "from runs group by cpu_row order by moves desc"},

	{"overhead", "What does virtualization cost each VM?",
	 "select vm, parent, " MS("guest") " as guest_ms, " MS("hypervisor") " as hypervisor_ms,\n"
	 "       " PERCENT("share") " as overhead_percent, exits, note\n"
	 "from hypervisor order by hypervisor desc"},

	{"exits", "Why do VMs exit, how often, and how long does it take?",
	 "select vm, \"by\", \"from\" as code_of, name, count, " MS("total") " as ms,\n"
	 "       mean / 1000.0 as mean_us, p99 / 1000.0 as p99_us, max / 1000.0 as max_us,\n"
	 "       user_count as in_vmm\n"
	 "from exits order by total desc limit 30"},

	{"exit-threads", "Which guest threads cause exits?",
	 "select machine, thread, name, count, " MS("total") " as ms, mean / 1000.0 as mean_us,\n"
	 "       max / 1000.0 as max_us, " SECONDS("max_at") " as max_at\n"
	 "from exit_cause order by total desc limit 30"},

	{"nesting", "What does nesting multiply?",
	 "select vm, host, exits, reflected, follow, per_thousand / 1000.0 as exits_per_exit,\n"
	 "       mean / 1000.0 as mean_us, " MS("total") " as ms\n"
	 "from nesting order by total desc"},

	{"waits", "What do vCPUs wait for?",
	 "select vcpu, cause, irq, \"from\" as sent_by, " MS("total") " as ms,\n"
	 "       " PERCENT("share") " as percent, count, mean / 1000.0 as mean_us,\n"
	 "       " MS("longest") " as longest_ms\n"
	 "from wait order by total desc limit 30"},

	{"long-waits", "Which were the longest waits, and what ended them?",
	 "select vcpu, " SECONDS("at") " as at, " MS("length") " as ms, cause, irq, waker, evidence\n"
	 "from wait_list order by length desc limit 20"},

	{"wakeups", "What is the wakeup latency of vCPUs, at each level?",
	 "select vm, level, cause, count, median / 1000.0 as median_us, p99 / 1000.0 as p99_us,\n"
	 "       longest / 1000.0 as longest_us, host_wakeup / 1000.0 as host_wakeup_us,\n"
	 "       run_delay / 1000.0 as run_delay_us, entry / 1000.0 as entry_us,\n"
	 "       guest / 1000.0 as guest_us, guest_run_delay / 1000.0 as guest_run_delay_us\n"
	 "from wakeup order by vm, count desc"},

	{"slow-wakeups", "Which wakeup latencies are the longest, and what are they made of?",
	 "select vcpu, " SECONDS("at") " as at, " MS("total") " as ms, cause, " MS("host_wakeup") " as host_wakeup_ms,\n"
	 "       " MS("run_delay") " as run_delay_ms, " MS("entry") " as entry_ms,\n"
	 "       " MS("guest") " as guest_ms, " MS("guest_run_delay") " as guest_run_delay_ms, thread\n"
	 "from wakeup_list order by total desc limit 20"},

	{"io", "Where do requests to devices spend their time?",
	 "select vm, device, kind, count, mean / 1000.0 as mean_us, p99 / 1000.0 as p99_us,\n"
	 "       queue / 1000.0 as queue_us, submit / 1000.0 as submit_us, wake / 1000.0 as wake_us,\n"
	 "       vmm / 1000.0 as vmm_us, disk / 1000.0 as disk_us, inject / 1000.0 as inject_us,\n"
	 "       deliver / 1000.0 as deliver_us, finish / 1000.0 as finish_us\n"
	 "from io order by count * mean desc"},

	{"slow-io", "Which requests took longest, and for whom?",
	 "select vm, device, kind, " SECONDS("at") " as at, " MS("total") " as ms, bytes, depth, thread,\n"
	 "       " MS("vmm") " as vmm_ms, " MS("disk") " as disk_ms, " MS("inject") " as inject_ms,\n"
	 "       " MS("undivided") " as undivided_ms\n"
	 "from io_list order by total desc limit 20"},

	{"delays", "Which were the longest delays of all?",
	 "select " MS("cost") " as ms, " SECONDS("begin") " as begin, text\n"
	 "from delay order by cost desc limit 20"},

	{"boot", "Where did the time of booting go?",
	 "select vm, stage, " SECONDS("begin") " as begin, " MS("length") " as ms, " MS("guest_mode") " as guest_mode_ms,\n"
	 "       " MS("kvm") " as kvm_ms, " MS("vmm") " as vmm_ms, " MS("host") " as host_ms,\n"
	 "       " MS("waits") " as waits_ms, blocked_on, " MS("unknown") " as unknown_ms\n"
	 "from boot order by vm, boot.begin"},

	{"shutdown", "Where did the time of shutting down go?",
	 "select vm, stage, " SECONDS("begin") " as begin, " MS("length") " as ms, " MS("guest_mode") " as guest_mode_ms,\n"
	 "       " MS("kvm") " as kvm_ms, " MS("vmm") " as vmm_ms, " MS("host") " as host_ms,\n"
	 "       " MS("waits") " as waits_ms, blocked_on, " MS("unknown") " as unknown_ms\n"
	 "from shutdown order by vm, shutdown.begin"},

	{"clocks", "How exact are the times of each machine?",
	 "select machine, method, bound / 1000.0 as bound_us, pieces, pairs, violations,\n"
	 "       worst_violation / 1000.0 as worst_us, rate_ppb\n"
	 "from clock order by machine_row"},

	{"gaps", "Where are events missing?",
	 "select machine, cpu, count(*) as places, sum(events) as events_lost,\n"
	 "       " MS("sum(length)") " as ms, " SECONDS("min(at)") " as first\n"
	 "from gap group by machine_row, cpu order by sum(length) desc"},
};
/* clang-format on */
const unsigned nr_ready_queries = ARRAY_SIZE(ready_queries);

const struct ready_query *ready_find(const char *name)
{
	for (unsigned i = 0; i < nr_ready_queries; i++) {
		if (!strcmp(ready_queries[i].name, name))
			return &ready_queries[i];
	}
	return NULL;
}
