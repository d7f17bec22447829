# SPDX-License-Identifier: Apache-2.0
"""The events that trace-cmd and LTTng record in the lab: what Sonde's analyses use.

Written as trace-cmd's -e takes it.  An event that a kernel does not have is dropped inside the machine.
"""
SCHED = [f"sched:{name}" for name in (
    "sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_process_fork",
    "sched_process_exec", "sched_process_exit", "sched_process_free", "sched_migrate_task")]
INTERRUPTS = ["irq", "irq_vectors"]
TIMERS = [f"timer:{name}" for name in (
    "hrtimer_start", "hrtimer_cancel", "hrtimer_expire_entry", "hrtimer_expire_exit")]
REST = ["power:cpu_idle", "block:block_rq_issue", "block:block_rq_complete",
        "block:block_rq_insert", "net:net_dev_queue", "net:netif_receive_skb", "task", "signal",
        "workqueue:workqueue_execute_start", "workqueue:workqueue_execute_end"]
KVM = ["kvm"]
# What a hypervisor adds; its guests are only seen through these.
WITHIN = SCHED + INTERRUPTS + TIMERS + REST

# The same under LTTng's names; without kvm_mmio, whose probe can bring a 6.1 kernel down.
LTTNG = ["sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_process_*",
         "sched_migrate_task", "irq_*", "x86_irq_vectors_*", "timer_hrtimer_*", "power_cpu_idle",
         "block_rq_issue", "block_rq_complete", "block_rq_insert", "net_dev_queue",
         "net_if_receive_skb", "task_rename", "signal_*", "workqueue_execute_*", "kvm_x86_*",
         "kvm_userspace_exit"]


def chosen(machine, has_guests):
    return machine.events or WITHIN + (KVM if has_guests else [])
