/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to devices: which moments of their way the model notes.
 *
 * Threads of the host: 100 and 101 run vm's CPUs, 10 is the VMM's main thread, 11 one of its pool
 * and 12 another thread for devices, 20 belongs to nobody.
 */
#include "tests/unit/model_world.h"

#include "model/io/request.h"

enum { MAIN = 10, WORKER = 11, SECOND = 12, OTHER = 20, SHELL = 7 };
enum { VEC_DISK = 40, VEC_OTHER = 41, IRQ_DISK = 25, DISK = 254 << 20, HOST_DISK = 8 << 20 };
enum { EXIT_NPF = 0x400, USER_MMIO = 6, MMIO_WRITE = 2 };
enum { PIO_WRITE = 1, QUEUE_BYTES = 2 };
#define DOORBELL 0xfe000000

static void issues(unsigned machine, int cpu, ns_t t, int thread, int64_t dev, int64_t sector,
		   int64_t bytes, int write)
{
	happens(machine, cpu, t, BLOCK_ISSUE, thread, dev, sector, bytes, write, 0);
}

static void queues(unsigned machine, int cpu, ns_t t, int thread, int64_t dev, int64_t sector)
{
	happens(machine, cpu, t, BLOCK_ISSUE, thread, dev, sector, 4096, 0, 1);
}

static void completes(unsigned machine, int cpu, ns_t t, int thread, int64_t dev, int64_t sector)
{
	happens(machine, cpu, t, BLOCK_COMPLETE, thread, dev, sector);
}

static void wakes(int cpu, ns_t t, int waker, int woken)
{
	happens(HOST, cpu, t, SCHED_WAKING, waker, woken, cpu);
}

static int64_t cell(unsigned row, const char *column)
{
	return fake_cell("request", row, column);
}

#define assert_cell(row, column, value) assert_int_equal(cell(row, column), value)

/* Nothing is under way that the VM's trace does not tell of: it began long ago. */
static void nothing_is_unseen(void)
{
	happens(VM, 0, -REQUEST_LONGEST_NS, OTHER, -1);
}

static void qemu_begins(unsigned nr)
{
	happens(HOST, 1, 1, FORK, 1, 1, MAIN, STR("qemu"), MAIN);
	happens(HOST, 1, 2, FORK, MAIN, MAIN, WORKER, STR("worker"), MAIN);
	happens(HOST, 1, 3, FORK, MAIN, MAIN, 100, STR("CPU 0/KVM"), MAIN);
	happens(HOST, 1, 4, FORK, MAIN, MAIN, 101, STR("CPU 1/KVM"), MAIN);
	switches(HOST, 0, 10, 0, RUNNABLE, 100);
	switches(HOST, 1, 11, 1, ASLEEP, 0);
	happens(HOST, 0, 15, KVM_EXIT, 100, EXIT_INTR, 0, 0, SVM); /* that thread is vCPU 0 */
	enters(HOST, 0, 20, 100);
	if (nr > 1)
		switches(VM, 0, 30, 0, RUNNABLE, SHELL);
}

static void open_world(unsigned nr)
{
	world_open(nr);
	if (nr > 1)
		nothing_is_unseen();
	qemu_begins(nr);
}

static void open_young_world(unsigned nr)
{
	world_open(nr);
	qemu_begins(nr);
}

/* @t later: vCPU 0 tells at 110, by writing to @doorbell if that is not 0, below 0 to a port; the
 * main thread takes it up at 130, the pool reads at 150 to 170, and the main thread sends the
 * interrupt at 190. */
static void host_works_at(ns_t t, int64_t doorbell, int vector)
{
	exits(HOST, 0, t + 110, 100, EXIT_NPF);
	if (doorbell < 0)
		happens(HOST, 0, t + 112, KVM_PIO, 100, PIO_WRITE, -doorbell >> 4,
			-doorbell < 0x10000 ? 1 : QUEUE_BYTES, -doorbell & 0xf);
	if (doorbell > 0)
		happens(HOST, 0, t + 112, KVM_MMIO, 100, MMIO_WRITE, doorbell);
	wakes(0, t + 115, 100, MAIN);
	enters(HOST, 0, t + 120, 100);
	switches(HOST, 1, t + 130, 0, RUNNABLE, MAIN);
	wakes(1, t + 140, MAIN, WORKER);
	switches(HOST, 1, t + 145, MAIN, ASLEEP, WORKER);
	issues(HOST, 1, t + 150, WORKER, HOST_DISK, 7000, 4096, 0);
	switches(HOST, 1, t + 155, WORKER, BLOCKED, 0);
	happens(HOST, 1, t + 165, IRQ_ENTRY, 0, 30);
	completes(HOST, 1, t + 170, 0, HOST_DISK, 7000);
	wakes(1, t + 172, 0, MAIN);
	happens(HOST, 1, t + 175, IRQ_EXIT, 0, 30);
	switches(HOST, 1, t + 180, 0, RUNNABLE, MAIN);
	happens(HOST, 1, t + 190, KVM_APIC_ACCEPT_IRQ, MAIN, 0, vector, 0);
}

static void host_works(void)
{
	host_works_at(0, DOORBELL, VEC_DISK);
}

/* vCPU 0 is given it at 210. */
static void host_injects_at(ns_t t, int vector)
{
	exits(HOST, 0, t + 200, 100, EXIT_INTR);
	happens(HOST, 0, t + 210, KVM_INJ_VIRQ, 100, vector, 0);
	enters(HOST, 0, t + 212, 100);
}

static void host_injects(void)
{
	host_injects_at(0, VEC_DISK);
}

/* ... and handles it at 220. */
static void guest_handles(int64_t sector)
{
	world.irq_name = "virtio0-req.0";
	happens(VM, 0, 220, IRQ_ENTRY, SHELL, IRQ_DISK);
	completes(VM, 0, 230, SHELL, DISK, sector);
	happens(VM, 0, 240, IRQ_EXIT, SHELL, IRQ_DISK);
	world.irq_name = NULL;
}

static void a_request_goes_through_all_layers(void **state)
{
	(void)state;
	open_world(2);
	queues(VM, 0, 90, SHELL, DISK, 64);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	host_works();
	host_injects();
	guest_handles(64);
	world_close(300);

	/* The host's own ended first. */
	assert_int_equal(fake_rows("request"), 2);
	assert_cell(0, "machine", 0);
	assert_cell(0, "issued", 150);
	assert_cell(0, "done", 170);
	assert_cell(1, "machine", 1);
	assert_cell(1, "kind", 1);
	assert_cell(1, "dev", DISK);
	assert_cell(1, "bytes", 4096);
	assert_cell(1, "thread", thread_row(VM, SHELL));
	assert_cell(1, "queued", 90);
	assert_cell(1, "issued", 100);
	assert_cell(1, "kicked", 110);
	assert_cell(1, "picked", 130);
	assert_cell(1, "worker", thread_row(HOST, MAIN));
	assert_cell(1, "disk_begin", 150);
	assert_cell(1, "disk_end", 170);
	assert_cell(1, "sent", 190);
	assert_cell(1, "sender", thread_row(HOST, MAIN));
	assert_cell(1, "injected", 210);
	assert_cell(1, "handled", 220);
	assert_cell(1, "done", 230);
	assert_cell(1, "vector", VEC_DISK);
	assert_cell(1, "depth", 1);
	assert_cell(1, "covered", 1);
}

static void without_the_guests_events_its_kick_and_the_answer_are_left(void **state)
{
	(void)state;
	open_world(1);
	host_works();
	host_injects();
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "kind", 0);
	assert_cell(1, "dev", -1);
	assert_cell(1, "issued", -1);
	assert_cell(1, "kicked", 110);
	assert_cell(1, "picked", 130);
	assert_cell(1, "disk_begin", 150);
	assert_cell(1, "sent", 190);
	assert_cell(1, "injected", 210);
	assert_cell(1, "handled", -1);
	assert_cell(1, "done", 210);
}

/* The @nr-th kick is answered so. */
static void is_answered(unsigned nr, int64_t doorbell, int vector)
{
	ns_t t = 200 * (ns_t)nr;

	host_works_at(t, doorbell, vector);
	host_injects_at(t, vector);
	switches(HOST, 1, t + 220, MAIN, ASLEEP, 0);
}

/* Of those, in the order of their kicks. */
static void assert_answers(unsigned nr, const int *vectors)
{
	for (unsigned row = 0; row < fake_rows("request"); row++) {
		unsigned at = (unsigned)(cell(row, "kicked") - 110) / 200;

		if (cell(row, "machine") != 1)
			continue;
		assert_in_range(at, 0, nr - 1);
		assert_cell(row, "kind", 0);
		assert_cell(row, "vector", vectors[at]);
	}
	assert_int_equal(fake_rows("request"), 2 * nr);
}

/* What answered once may have been for another device. */
static void what_answers_a_doorbell_was_seen_to_do_so_twice(void **state)
{
	(void)state;
	open_world(1);
	is_answered(0, DOORBELL, VEC_DISK);
	world_close(400);
	assert_answers(1, (int[]){-1});
	world_open(1);
	qemu_begins(1);
	is_answered(0, DOORBELL, VEC_DISK);
	is_answered(1, DOORBELL, VEC_DISK);
	world_close(600);
	assert_answers(2, (int[]){VEC_DISK, VEC_DISK});
}

/* Both devices were told of something, and who works for them sent the other one's interrupt first.
 */
static void another_devices_interrupt_is_no_answer(void **state)
{
	int vectors[26];

	(void)state;
	open_world(1);
	for (unsigned nr = 0; nr < ARRAY_SIZE(vectors); nr++) {
		bool wrong = nr % 13 == 4, second = nr % 6 == 2;

		vectors[nr] = wrong ? -1 : second ? VEC_OTHER : VEC_DISK;
		is_answered(nr, wrong || second ? DOORBELL + 4 : DOORBELL,
			    second ? VEC_OTHER : VEC_DISK);
	}
	world_close(6000);
	assert_answers(ARRAY_SIZE(vectors), vectors);
}

/* It was answered twice by what never answers another one, and twenty times by its own. */
static void what_seldom_answers_is_no_answer(void **state)
{
	int vectors[23];

	(void)state;
	open_world(1);
	for (unsigned nr = 0; nr < ARRAY_SIZE(vectors); nr++) {
		vectors[nr] = nr % 11 == 5 ? -1 : VEC_DISK;
		is_answered(nr, DOORBELL, vectors[nr] < 0 ? VEC_OTHER : VEC_DISK);
	}
	world_close(5000);
	assert_answers(ARRAY_SIZE(vectors), vectors);
}

/* Nor where so few of its own are seen that the two are more than a tenth: its own came in between.
 */
static void what_answers_amid_others_is_no_answer(void **state)
{
	int vectors[18];

	(void)state;
	open_world(1);
	for (unsigned nr = 0; nr < ARRAY_SIZE(vectors); nr++) {
		vectors[nr] = nr % 9 == 5 ? -1 : VEC_DISK;
		is_answered(nr, DOORBELL, vectors[nr] < 0 ? VEC_OTHER : VEC_DISK);
	}
	world_close(4000);
	assert_answers(ARRAY_SIZE(vectors), vectors);
}

/* A guest gives the queue's vector to another vCPU, or another one to the queue. */
static void a_doorbell_may_get_another_vector(void **state)
{
	(void)state;
	open_world(1);
	for (unsigned nr = 0; nr < 4; nr++)
		is_answered(nr, DOORBELL, nr < 2 ? VEC_DISK : VEC_OTHER);
	world_close(1000);
	assert_answers(4, (int[]){VEC_DISK, VEC_DISK, VEC_OTHER, VEC_OTHER});
}

/* Of a VM with two devices it is not known whose an interrupt is where no event names the doorbell.
 */
static void without_doorbells_one_vector_must_have_answered_all(void **state)
{
	(void)state;
	open_world(1);
	is_answered(0, 0, VEC_DISK);
	is_answered(1, 0, VEC_DISK);
	world_close(600);
	assert_answers(2, (int[]){VEC_DISK, VEC_DISK});
	world_open(1);
	qemu_begins(1);
	is_answered(0, 0, VEC_DISK);
	is_answered(1, 0, VEC_DISK);
	is_answered(2, 0, VEC_OTHER);
	world_close(800);
	assert_answers(3, (int[]){-1, -1, -1});
	world_open(1);
	qemu_begins(1);
	is_answered(0, 0, VEC_DISK);
	is_answered(1, 0, VEC_DISK);
	is_answered(2, DOORBELL, VEC_DISK);
	is_answered(3, DOORBELL, VEC_DISK);
	world_close(1000);
	assert_answers(4, (int[]){-1, -1, VEC_DISK, VEC_DISK});
}

/* Devices of virtio's legacy kind have a port each, at which each queue is told by its number. */
static void a_doorbell_may_be_a_queue_at_a_port(void **state)
{
	const int64_t disk = -0xc0100, other = -0xc0200, second_queue = -0xc0101;

	(void)state;
	open_world(1);
	is_answered(0, disk, VEC_DISK);
	is_answered(1, disk, VEC_DISK);
	is_answered(2, other, VEC_OTHER);
	is_answered(3, other, VEC_OTHER);
	is_answered(4, second_queue, VEC_DISK + 2);
	is_answered(5, second_queue, VEC_DISK + 2);
	world_close(1400);
	assert_answers(
		6, (int[]){VEC_DISK, VEC_DISK, VEC_OTHER, VEC_OTHER, VEC_DISK + 2, VEC_DISK + 2});
}

/* What is written to other ports, a byte each, names no doorbell. */
static void other_ports_are_no_doorbells(void **state)
{
	(void)state;
	open_world(1);
	is_answered(0, -0x3f80, VEC_DISK);
	is_answered(1, -0x3f80, VEC_DISK);
	is_answered(2, -0x600, VEC_OTHER);
	world_close(800);
	assert_answers(3, (int[]){-1, -1, -1});
}

/* On Intel's CPUs KVM says only after it has woken who works for it where that was. */
static void a_doorbell_may_be_named_late(void **state)
{
	(void)state;
	open_world(1);
	for (unsigned nr = 0; nr < 5; nr++)
		is_answered(nr, nr == 4 ? DOORBELL + 4 : DOORBELL, nr == 4 ? VEC_OTHER : VEC_DISK);
	exits(HOST, 0, 1110, 100, EXIT_NPF);
	wakes(0, 1115, 100, MAIN);
	happens(HOST, 0, 1117, KVM_MMIO, 100, MMIO_WRITE, DOORBELL);
	enters(HOST, 0, 1120, 100);
	switches(HOST, 1, 1130, 0, RUNNABLE, MAIN);
	wakes(1, 1140, MAIN, WORKER);
	switches(HOST, 1, 1145, MAIN, ASLEEP, WORKER);
	wakes(1, 1150, WORKER, MAIN);
	switches(HOST, 1, 1155, WORKER, ASLEEP, MAIN);
	happens(HOST, 1, 1190, KVM_APIC_ACCEPT_IRQ, MAIN, 0, VEC_DISK, 0);
	host_injects_at(1000, VEC_DISK);
	world_close(1400);
	assert_int_equal(fake_rows("request"), 11);
	assert_cell(10, "kicked", 1110);
	assert_cell(10, "vector", VEC_DISK);
}

/* When its trace is over, it tells as little as if it had none. */
static void after_the_guests_trace_its_kick_and_the_answer_are_left(void **state)
{
	static struct packet packet = {.begin = 30, .end = 100};

	(void)state;
	world_prepare(2);
	world.streams[VM][0].packets = &packet;
	world.streams[VM][0].nr_packets = 1;
	world.traces[VM].streams = world.streams[VM];
	world.traces[VM].nr_streams = 1;
	world_start();
	qemu_begins(2);
	issues(VM, 0, 40, SHELL, DISK, 128, 4096, 0);
	host_works();
	host_injects();
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "machine", 1);
	assert_cell(1, "kind", 0);
	assert_cell(1, "kicked", 110);
	assert_cell(1, "disk_begin", 150);
	assert_cell(1, "sent", 190);
	assert_cell(1, "done", 210);
}

static void without_the_hosts_events_only_the_ends_are_known(void **state)
{
	(void)state;
	world_open(2);
	switches(VM, 0, 30, 0, RUNNABLE, SHELL);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 1);
	guest_handles(64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "kind", 2);
	assert_cell(0, "issued", 100);
	assert_cell(0, "kicked", -1);
	assert_cell(0, "sent", -1);
	assert_cell(0, "handled", 220);
	assert_cell(0, "done", 230);
	assert_cell(0, "covered", 0);
}

/* Nobody was woken for the first of two kicks: who is woken for the second takes up that one's. */
static void who_is_woken_takes_up_what_that_kick_tells(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 60, SHELL, DISK, 512, 4096, 0);
	exits(HOST, 0, 70, 100, EXIT_NPF);
	happens(HOST, 0, 72, KVM_MMIO, 100, MMIO_WRITE, DOORBELL);
	enters(HOST, 0, 80, 100);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	host_works();
	host_injects();
	guest_handles(64);
	completes(VM, 0, 250, SHELL, DISK, 512);
	world_close(300);

	assert_int_equal(fake_rows("request"), 3);
	assert_cell(1, "sector", 64);
	assert_cell(1, "kicked", 110);
	assert_cell(1, "worker", thread_row(HOST, MAIN));
	assert_cell(2, "sector", 512);
	assert_cell(2, "kicked", 70);
	assert_cell(2, "worker", -1);
	assert_cell(2, "picked", -1);
}

static void one_kick_tells_of_all_requests_before_it(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 95, SHELL, DISK, 64, 4096, 0);
	issues(VM, 0, 100, SHELL, DISK, 128, 4096, 0);
	host_works();
	issues(VM, 0, 195, SHELL, DISK, 512, 4096, 0);
	host_injects();
	world.irq_name = "virtio0-req.0";
	happens(VM, 0, 220, IRQ_ENTRY, SHELL, IRQ_DISK);
	completes(VM, 0, 225, SHELL, DISK, 64);
	completes(VM, 0, 230, SHELL, DISK, 128);
	world_close(300);

	assert_int_equal(fake_rows("request"), 3);
	assert_cell(1, "sector", 64);
	assert_cell(1, "kicked", 110);
	assert_cell(1, "depth", 1);
	assert_cell(2, "sector", 128);
	assert_cell(2, "kicked", 110);
	assert_cell(2, "depth", 2);
	/* There was one request to the host's disk: nothing tells which of them it was for. */
	assert_cell(1, "disk_begin", -1);
	assert_cell(1, "disputed", 1);
	assert_cell(2, "disk_begin", -1);
	assert_cell(2, "disputed", 1);
}

/* Two of the VM's are under way when the host's disk works from 150 to 170. */
static void two_are_served(int64_t bytes, int64_t other_bytes)
{
	issues(VM, 0, 95, SHELL, DISK, 64, bytes, 0);
	issues(VM, 0, 100, SHELL, DISK, 128, other_bytes, 0);
	host_works();
	host_injects();
	world.irq_name = "virtio0-req.0";
	happens(VM, 0, 220, IRQ_ENTRY, SHELL, IRQ_DISK);
	completes(VM, 0, 225, SHELL, DISK, 64);
	completes(VM, 0, 230, SHELL, DISK, 128);
	happens(VM, 0, 235, IRQ_EXIT, SHELL, IRQ_DISK);
}

static void the_size_tells_which_request_the_disk_works_for(void **state)
{
	(void)state;
	open_world(2);
	two_are_served(8192, 4096);
	world_close(300);

	assert_cell(1, "sector", 64);
	assert_cell(1, "disk_begin", -1);
	assert_cell(1, "disputed", 0);
	assert_cell(2, "disk_begin", 150);
	assert_cell(2, "disk_end", 170);
}

static void the_place_tells_which_request_the_disk_works_for(void **state)
{
	(void)state;
	open_world(2);
	/* Alone: sector 1000 of the VM's disk is 7872 of the host's. */
	issues(VM, 0, 40, SHELL, DISK, 1000, 4096, 0);
	switches(HOST, 1, 50, 0, RUNNABLE, WORKER);
	issues(HOST, 1, 55, WORKER, HOST_DISK, 7872, 4096, 0);
	completes(HOST, 1, 60, WORKER, HOST_DISK, 7872);
	switches(HOST, 1, 70, WORKER, ASLEEP, 0);
	happens(VM, 0, 75, IRQ_ENTRY, SHELL, IRQ_DISK);
	completes(VM, 0, 80, SHELL, DISK, 1000);
	happens(VM, 0, 85, IRQ_EXIT, SHELL, IRQ_DISK);
	/* 7000 is 128 then, not 64. */
	two_are_served(4096, 4096);
	world_close(300);

	assert_int_equal(fake_rows("request"), 5);
	assert_cell(1, "sector", 1000);
	assert_cell(1, "disk_begin", 55);
	assert_cell(3, "sector", 64);
	assert_cell(3, "disk_begin", -1);
	assert_cell(3, "disputed", 0);
	assert_cell(4, "sector", 128);
	assert_cell(4, "disk_begin", 150);
}

static void the_thread_tells_which_request_the_disk_works_for(void **state)
{
	(void)state;
	open_world(2);
	happens(HOST, 1, 35, FORK, -1, MAIN, SECOND, STR("iothread"), MAIN);
	/* The one at 40 is told to another thread, which is at work on it. */
	issues(VM, 0, 40, SHELL, DISK, 1000, 4096, 0);
	exits(HOST, 0, 50, 100, EXIT_NPF);
	happens(HOST, 0, 52, KVM_MMIO, 100, MMIO_WRITE, DOORBELL);
	wakes(0, 55, 100, SECOND);
	enters(HOST, 0, 60, 100);
	switches(HOST, 1, 65, 0, RUNNABLE, SECOND);
	switches(HOST, 1, 70, SECOND, ASLEEP, 0);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	host_works();
	host_injects();
	guest_handles(64);
	completes(VM, 0, 250, SHELL, DISK, 1000);
	world_close(300);

	assert_cell(1, "sector", 64);
	assert_cell(1, "disk_begin", 150);
	assert_cell(2, "sector", 1000);
	assert_cell(2, "disk_begin", -1);
	assert_cell(2, "disputed", 0);
}

/* A worker that is awake all along reads for the VM, from 150 to 170; nobody was kicked or woken
 * for it. */
static void is_served_unasked(int64_t sector)
{
	issues(VM, 0, 100, SHELL, DISK, sector, 4096, 0);
	switches(HOST, 1, 145, 0, RUNNABLE, WORKER);
	issues(HOST, 1, 150, WORKER, HOST_DISK, 7000, 4096, 0);
	completes(HOST, 1, 170, WORKER, HOST_DISK, 7000);
	host_injects();
	guest_handles(sector);
}

static void disk_is_disputed(void)
{
	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "machine", 1);
	assert_cell(1, "disk_begin", -1);
	assert_cell(1, "disk_end", -1);
	assert_cell(1, "disputed", 1);
}

static void the_only_one_under_way_is_served(void **state)
{
	(void)state;
	open_world(2);
	is_served_unasked(64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "disk_begin", 150);
	assert_cell(1, "disk_end", 170);
	assert_cell(1, "disputed", 0);
}

/* The disk may work for a request that went before, unseen. */
static void after_a_gap_of_the_vms_another_one_may_be_served(void **state)
{
	(void)state;
	open_world(2);
	happens(VM, 0, 90, LOST, -1, 3, 60, 90);
	is_served_unasked(64);
	world_close(300);
	disk_is_disputed();
}

static void when_tracing_begins_another_one_may_be_served(void **state)
{
	(void)state;
	open_young_world(2);
	is_served_unasked(64);
	world_close(300);
	disk_is_disputed();
}

/* Which of the two is served would be told by their sizes, if the host had not lost what tells of
 * the first one. */
static void after_a_gap_of_the_hosts_an_earlier_one_may_be_served(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 50, SHELL, DISK, 1000, 8192, 0);
	happens(HOST, 0, 80, LOST, -1, 3, 60, 80);
	enters(HOST, 0, 85, 100);
	is_served_unasked(64);
	world_close(300);
	disk_is_disputed();
}

/* The worker slept when the VM told of it, so nothing else of the VM's waited there, and who reads
 * has just been woken. */
static void after_a_gap_who_has_just_picked_it_up_tells(void **state)
{
	(void)state;
	open_world(2);
	happens(VM, 0, 60, LOST, -1, 3, 40, 60);
	switches(VM, 0, 70, 0, RUNNABLE, SHELL);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	host_works();
	host_injects();
	guest_handles(64);
	world_close(300);

	assert_cell(1, "disk_begin", 150);
	assert_cell(1, "disk_end", 170);
	assert_cell(1, "disputed", 0);
}

/* ... unless the kick may have been for one before it as well. */
static void after_a_gap_a_kick_may_tell_of_an_unseen_one_too(void **state)
{
	(void)state;
	open_world(2);
	happens(VM, 0, 90, LOST, -1, 3, 60, 90);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	host_works();
	host_injects();
	guest_handles(64);
	world_close(300);
	disk_is_disputed();
}

/* The disk had it before the host's gap, and was done with a part of it: how long all of it took is
 * not known. */
static void a_disks_work_that_a_gap_cuts_has_no_length(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 100, SHELL, DISK, 64, 8192, 0);
	host_works();
	happens(HOST, 1, 195, LOST, -1, 3, 191, 195);
	host_injects();
	guest_handles(64);
	world_close(300);

	assert_cell(1, "machine", 1);
	assert_cell(1, "kicked", 110);
	assert_cell(1, "disk_begin", -1);
	assert_cell(1, "disk_end", -1);
}

/* After a gap of the host's a thread of a process that is not known may be a VMM's. */
static void who_works_for_nobody_known_may_work_for_a_vm(void **state)
{
	(void)state;
	open_world(2);
	happens(HOST, 1, 32, LOST, -1, 3, 31, 32);
	enters(HOST, 0, 40, 100);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	switches(HOST, 1, 145, 0, RUNNABLE, OTHER);
	issues(HOST, 1, 150, OTHER, HOST_DISK, 7000, 4096, 0);
	completes(HOST, 1, 170, OTHER, HOST_DISK, 7000);
	host_injects();
	guest_handles(64);
	world_close(300);
	disk_is_disputed();
}

/* ... and so may one that was there when its host's trace begins: no gap is needed. */
static void who_was_there_before_the_trace_may_work_for_a_vm(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	switches(HOST, 1, 145, 0, RUNNABLE, OTHER);
	issues(HOST, 1, 150, OTHER, HOST_DISK, 7000, 4096, 0);
	completes(HOST, 1, 170, OTHER, HOST_DISK, 7000);
	host_injects();
	guest_handles(64);
	world_close(300);
	disk_is_disputed();
}

/* ... but not one whose process is known to be another. */
static void who_is_of_another_process_works_for_no_vm(void **state)
{
	(void)state;
	open_world(2);
	happens(HOST, 1, 32, FORK, 1, 1, OTHER, STR("other"), OTHER);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	switches(HOST, 1, 145, 0, RUNNABLE, OTHER);
	issues(HOST, 1, 150, OTHER, HOST_DISK, 7000, 4096, 0);
	completes(HOST, 1, 170, OTHER, HOST_DISK, 7000);
	host_injects();
	guest_handles(64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "disputed", 0);
}

static void an_exit_for_something_else_is_no_kick(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	exits(HOST, 0, 105, 100, EXIT_INTR);
	wakes(0, 106, 100, MAIN);
	enters(HOST, 0, 107, 100);
	/* Its interrupt controller, not a device. */
	exits(HOST, 0, 110, 100, EXIT_NPF);
	happens(HOST, 0, 112, KVM_MMIO, 100, MMIO_WRITE, 0xfee00300);
	enters(HOST, 0, 120, 100);
	guest_handles(64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "kicked", -1);
	assert_cell(0, "worker", -1);
	assert_cell(0, "covered", 1);
}

/* Threads that nothing shows the process of: OTHER, to which soft interrupts are left, is woken
 * before the device is told. */
static void is_told_amid_wakeups(ns_t mmio, int fast)
{
	open_world(2);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	exits(HOST, 0, 110, 100, EXIT_NPF);
	wakes(0, 111, 100, OTHER);
	if (mmio == 112)
		happens(HOST, 0, mmio, KVM_MMIO, 100, MMIO_WRITE, DOORBELL, fast);
	wakes(0, 115, 100, OTHER + 1);
	if (mmio > 112)
		happens(HOST, 0, mmio, KVM_MMIO, 100, MMIO_WRITE, DOORBELL, fast);
	enters(HOST, 0, 120, 100);
	switches(HOST, 1, 130, 0, RUNNABLE, OTHER);
	issues(HOST, 1, 135, OTHER, HOST_DISK, 9000, 4096, 1);
	switches(HOST, 1, 140, OTHER, ASLEEP, OTHER + 1);
	guest_handles(64);
	world_close(300);
	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "kicked", 110);
}

static void who_was_woken_before_the_device_was_told_does_not_work_for_it(void **state)
{
	(void)state;
	is_told_amid_wakeups(112, 0);
	assert_cell(0, "worker", thread_row(HOST, OTHER + 1));
	assert_cell(0, "picked", 140);
}

static void of_several_woken_early_nobody_is_known_to_work_for_it(void **state)
{
	(void)state;
	is_told_amid_wakeups(117, 1);
	assert_cell(0, "worker", -1);
	assert_cell(0, "picked", -1);
}

static void the_vcpus_own_thread_may_do_the_work(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	exits(HOST, 0, 110, 100, EXIT_NPF);
	happens(HOST, 0, 125, KVM_USERSPACE_EXIT, 100, USER_MMIO, 0);
	enters(HOST, 0, 150, 100);
	guest_handles(64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "kicked", 110);
	assert_cell(0, "picked", 125);
	assert_cell(0, "worker", thread_row(HOST, 100));
}

static void an_interrupt_from_before_a_request_is_not_its_answer(void **state)
{
	(void)state;
	open_world(2);
	/* Sent at 50 for something else, and given to the vCPU only at 210. */
	switches(HOST, 1, 45, 0, RUNNABLE, MAIN);
	happens(HOST, 1, 50, KVM_APIC_ACCEPT_IRQ, MAIN, 0, VEC_DISK, 0);
	switches(HOST, 1, 60, MAIN, ASLEEP, 0);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	host_injects();
	guest_handles(64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "sent", -1);
	assert_cell(0, "injected", 210);
}

static void lost_events_end_what_is_under_way(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	happens(VM, 0, 150, LOST, -1, 3, 140, 150);
	completes(VM, 0, 230, SHELL, DISK, 64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 0);
}

/* The VM's own events tell of it all the same. */
static void what_the_host_did_in_a_gap_is_not_known(void **state)
{
	static const char *const lost[] = {"picked", "disk_begin", "disk_end", "sent", "injected"};

	(void)state;
	open_world(2);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	exits(HOST, 0, 110, 100, EXIT_NPF);
	wakes(0, 115, 100, MAIN);
	enters(HOST, 0, 120, 100);
	happens(HOST, 1, 125, LOST, -1, 3, 125, 145);
	/* What it does after that may be for what it got in the gap. */
	switches(HOST, 1, 146, 0, RUNNABLE, WORKER);
	issues(HOST, 1, 150, WORKER, HOST_DISK, 7000, 4096, 0);
	completes(HOST, 1, 170, WORKER, HOST_DISK, 7000);
	switches(HOST, 1, 180, WORKER, BLOCKED, MAIN);
	happens(HOST, 1, 190, KVM_APIC_ACCEPT_IRQ, MAIN, 0, VEC_DISK, 0);
	host_injects();
	guest_handles(64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "machine", 1);
	assert_cell(1, "issued", 100);
	assert_cell(1, "kicked", 110);
	assert_cell(1, "handled", 220);
	assert_cell(1, "done", 230);
	assert_cell(1, "covered", 0);
	for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
		assert_cell(1, lost[i], -1);
}

/* Without the VM's own events a kick before a gap is not answered by an interrupt after it. */
static void a_kick_before_a_gap_has_no_answer(void **state)
{
	(void)state;
	open_world(1);
	exits(HOST, 0, 110, 100, EXIT_NPF);
	happens(HOST, 0, 112, KVM_MMIO, 100, MMIO_WRITE, DOORBELL);
	wakes(0, 115, 100, MAIN);
	enters(HOST, 0, 120, 100);
	switches(HOST, 1, 122, 0, RUNNABLE, MAIN);
	happens(HOST, 0, 125, LOST, -1, 3, 125, 145);
	happens(HOST, 1, 190, KVM_APIC_ACCEPT_IRQ, MAIN, 0, VEC_DISK, 0);
	host_injects();
	world_close(300);

	assert_int_equal(fake_rows("request"), 0);
}

/* It was for another device: the disk's interrupt is not for it. */
static void a_kick_that_led_to_no_work_has_no_answer(void **state)
{
	(void)state;
	open_world(1);
	exits(HOST, 0, 50, 100, EXIT_NPF);
	happens(HOST, 0, 52, KVM_MMIO, 100, MMIO_WRITE, DOORBELL);
	wakes(0, 55, 100, MAIN);
	enters(HOST, 0, 60, 100);
	switches(HOST, 1, 70, 0, RUNNABLE, MAIN);
	switches(HOST, 1, 80, MAIN, ASLEEP, 0);
	host_works();
	host_injects();
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "machine", 1);
	assert_cell(1, "kicked", 110);
	assert_cell(1, "done", 210);
}

/* Of two kicks the disk has worked for one, by whom is not known; the pool is done with the other.
 */
static void of_two_kicks_an_unknown_ones_work_may_be_for_either(void **state)
{
	(void)state;
	open_world(1);
	exits(HOST, 0, 50, 100, EXIT_NPF);
	happens(HOST, 0, 52, KVM_MMIO, 100, MMIO_WRITE, DOORBELL);
	wakes(0, 55, 100, MAIN);
	enters(HOST, 0, 60, 100);
	switches(HOST, 1, 70, 0, RUNNABLE, MAIN);
	wakes(1, 72, MAIN, WORKER);
	switches(HOST, 1, 75, MAIN, ASLEEP, WORKER);
	switches(HOST, 1, 80, WORKER, ASLEEP, 0);
	exits(HOST, 0, 110, 100, EXIT_NPF);
	happens(HOST, 0, 112, KVM_MMIO, 100, MMIO_WRITE, DOORBELL);
	wakes(0, 115, 100, MAIN);
	enters(HOST, 0, 120, 100);
	switches(HOST, 1, 130, 0, RUNNABLE, MAIN);
	switches(HOST, 1, 135, MAIN, ASLEEP, 0);
	happens(HOST, 1, 140, IRQ_ENTRY, 0, 30);
	issues(HOST, 1, 142, 0, HOST_DISK, 7000, 4096, 0);
	happens(HOST, 1, 144, IRQ_EXIT, 0, 30);
	completes(HOST, 1, 165, 0, HOST_DISK, 7000);
	switches(HOST, 1, 170, 0, RUNNABLE, WORKER);
	wakes(1, 172, WORKER, MAIN);
	switches(HOST, 1, 180, WORKER, ASLEEP, MAIN);
	happens(HOST, 1, 190, KVM_APIC_ACCEPT_IRQ, MAIN, 0, VEC_DISK, 0);
	host_injects();
	world_close(300);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "machine", 0);
}

/* An interrupt that was sent while the VM lost events was handled there: the one after it is
 * another. */
static void an_interrupt_in_a_gap_is_not_the_next_one(void **state)
{
	(void)state;
	open_world(2);
	issues(VM, 0, 35, SHELL, DISK, 128, 4096, 0);
	happens(VM, 0, 40, LOST, -1, 3, 40, 90);
	switches(HOST, 1, 55, 0, RUNNABLE, MAIN);
	happens(HOST, 1, 60, KVM_APIC_ACCEPT_IRQ, MAIN, 0, VEC_DISK, 0);
	switches(HOST, 1, 62, MAIN, ASLEEP, 0);
	exits(HOST, 0, 65, 100, EXIT_INTR);
	happens(HOST, 0, 70, KVM_INJ_VIRQ, 100, VEC_DISK, 0);
	enters(HOST, 0, 75, 100);
	switches(VM, 0, 95, 0, RUNNABLE, SHELL);
	issues(VM, 0, 100, SHELL, DISK, 64, 4096, 0);
	host_works();
	host_injects();
	guest_handles(64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "sent", 190);
	assert_cell(1, "injected", 210);
	assert_cell(1, "handled", 220);
}

/* Where one of the VM's CPUs is not recorded, a request may have ended there, and its place been
 * used again; how many are under way is not known. */
static void what_may_have_ended_unseen_is_not_gone_on_with(void **state)
{
	(void)state;
	open_world(2);
	happens(VM, 1, 90, LOST, -1, 3, 90, 1000);
	issues(VM, 0, 100, SHELL, DISK, 128, 4096, 0);
	issues(VM, 0, 101, SHELL, DISK, 64, 4096, 0);
	issues(VM, 0, 200, SHELL, DISK, 64, 4096, 0);
	completes(VM, 0, 230, SHELL, DISK, 64);
	world_close(300);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "issued", 200);
	assert_cell(0, "queued", -1);
	assert_cell(0, "depth", 0);
}

/* Who asked for it put it into a queue, maybe on a CPU that is not recorded: who takes it out is
 * another one. */
static void who_put_it_into_a_queue_unseen_is_not_known(void **state)
{
	(void)state;
	open_world(2);
	queues(VM, 0, 80, SHELL, DISK, 64);
	issues(VM, 0, 82, SHELL, DISK, 64, 4096, 0);
	issues(VM, 0, 84, SHELL, DISK, 128, 4096, 0); /* in none */
	completes(VM, 0, 85, SHELL, DISK, 64);
	completes(VM, 0, 86, SHELL, DISK, 128);
	happens(VM, 1, 90, LOST, -1, 3, 90, 1000);
	issues(VM, 0, 100, SHELL, DISK, 256, 4096, 0);
	completes(VM, 0, 120, SHELL, DISK, 256);
	world_close(300);

	assert_int_equal(fake_rows("request"), 3);
	assert_cell(0, "queued", 80);
	assert_cell(1, "queued", -1);
	assert_cell(1, "thread", thread_row(VM, SHELL));
	assert_cell(2, "queued", -2);
	assert_cell(2, "thread", -1);
}

static void a_packet_ends_where_the_host_hands_it_on(void **state)
{
	(void)state;
	open_world(2);
	happens(VM, 0, 100, NET_XMIT, SHELL, 0);
	exits(HOST, 0, 110, 100, EXIT_NPF);
	wakes(0, 115, 100, WORKER);
	enters(HOST, 0, 120, 100);
	switches(HOST, 1, 130, 0, RUNNABLE, WORKER);
	happens(HOST, 1, 160, NET_XMIT, WORKER, 0);
	world_close(300);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "kind", 4);
	assert_cell(0, "issued", 100);
	assert_cell(0, "kicked", 110);
	assert_cell(0, "picked", 130);
	assert_cell(0, "done", 160);
}

static void packets_that_came_go_back_to_who_told_of_them(void **state)
{
	(void)state;
	open_world(2);
	happens(VM, 0, 40, IRQ_ENTRY, SHELL, 1);
	happens(VM, 0, 45, IRQ_EXIT, SHELL, 1);
	switches(HOST, 1, 150, 0, RUNNABLE, MAIN);
	happens(HOST, 1, 190, KVM_APIC_ACCEPT_IRQ, MAIN, 0, VEC_DISK, 0);
	host_injects();
	world.irq_name = "virtio1-input.0";
	happens(VM, 0, 220, IRQ_ENTRY, SHELL, IRQ_DISK);
	happens(VM, 0, 240, IRQ_EXIT, SHELL, IRQ_DISK);
	/* Nothing was sent since. */
	happens(VM, 0, 250, IRQ_ENTRY, SHELL, IRQ_DISK);
	happens(VM, 0, 260, IRQ_EXIT, SHELL, IRQ_DISK);
	world.irq_name = NULL;
	world_close(300);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "machine", 1);
	assert_cell(0, "kind", 5);
	assert_cell(0, "sender", thread_row(HOST, MAIN));
	assert_cell(0, "sent", 190);
	assert_cell(0, "injected", 210);
	assert_cell(0, "handled", 220);
	assert_cell(0, "done", 220);
}

/* SECOND, which works for another VM, hands a packet to vm's device; it is on the host's CPU 1. */
static void hands_on(ns_t t)
{
	world.device = "tap-1";
	happens(HOST, 1, t, NET_XMIT, SECOND, 0);
	world.device = NULL;
}

/* Three times @taker is woken for such a packet. */
static void shows_who_takes(int taker)
{
	for (ns_t t = 31; t <= 35; t += 2) {
		hands_on(t);
		wakes(1, t + 1, SECOND, taker);
	}
}

/* The interrupt's handler runs at @t + 10. */
static void is_handled(ns_t t)
{
	exits(HOST, 0, t + 2, 100, EXIT_INTR);
	happens(HOST, 0, t + 4, KVM_INJ_VIRQ, 100, VEC_DISK, 0);
	enters(HOST, 0, t + 6, 100);
	world.irq_name = "virtio1-input.0";
	happens(VM, 0, t + 10, IRQ_ENTRY, SHELL, IRQ_DISK);
	world.irq_name = NULL;
	happens(VM, 0, t + 12, IRQ_EXIT, SHELL, IRQ_DISK);
}

/* ... and OTHER sends it at @t. */
static void is_told_of(ns_t t)
{
	happens(HOST, 1, t, KVM_APIC_ACCEPT_IRQ, OTHER, 0, VEC_DISK, 0);
	is_handled(t);
}

/* OTHER is vm's vhost worker, SECOND another VM's. */
static void open_net_world(void)
{
	world_prepare(2);
	world_start();
	happens(HOST, 1, 1, FORK, 1, 1, MAIN, STR("qemu"), MAIN);
	happens(HOST, 1, 3, FORK, MAIN, MAIN, 100, STR("CPU 0/KVM"), MAIN);
	happens(HOST, 1, 4, FORK, 2, 2, OTHER, STR("vhost-10"), OTHER);
	happens(HOST, 1, 5, FORK, 2, 2, SECOND, STR("vhost-9"), SECOND);
	switches(HOST, 0, 10, 0, RUNNABLE, 100);
	happens(HOST, 0, 15, KVM_EXIT, 100, EXIT_INTR, 0, 0, SVM);
	enters(HOST, 0, 20, 100);
	switches(VM, 0, 25, 0, RUNNABLE, SHELL);
	happens(VM, 0, 26, IRQ_ENTRY, SHELL, 1);
	happens(VM, 0, 27, IRQ_EXIT, SHELL, 1);
	switches(HOST, 1, 30, 0, RUNNABLE, SECOND);
	shows_who_takes(OTHER);
	/* The three before have been told of; OTHER is preempted, and so is not woken for the next.
	 */
	switches(HOST, 1, 40, SECOND, RUNNABLE, OTHER);
	is_told_of(45);
	switches(HOST, 1, 60, OTHER, PREEMPTED, SECOND);
}

/* OTHER tells of the first packet, and is preempted while the second one comes. */
static void hands_on_twice(void)
{
	open_net_world();
	hands_on(70);
	switches(HOST, 1, 75, SECOND, RUNNABLE, OTHER);
	happens(HOST, 1, 78, KVM_APIC_ACCEPT_IRQ, OTHER, 0, VEC_DISK, 0);
	switches(HOST, 1, 80, OTHER, PREEMPTED, SECOND);
	hands_on(82);
	switches(HOST, 1, 84, SECOND, ASLEEP, OTHER);
}

static void a_packet_for_a_worker_that_is_awake_is_known_by_its_device(void **state)
{
	(void)state;
	open_net_world();
	hands_on(70);
	switches(HOST, 1, 80, SECOND, ASLEEP, OTHER);
	is_told_of(90);
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "kind", 5);
	assert_cell(1, "sender", thread_row(HOST, OTHER));
	assert_cell(1, "worker", thread_row(HOST, SECOND));
	assert_cell(1, "picked", 70);
	assert_cell(1, "sent", 90);
}

static void packets_from_several_are_nobodys(void **state)
{
	(void)state;
	open_net_world();
	hands_on(70);
	switches(HOST, 1, 72, SECOND, RUNNABLE, MAIN);
	world.device = "tap-1";
	happens(HOST, 1, 74, NET_XMIT, MAIN, 0);
	switches(HOST, 1, 80, MAIN, ASLEEP, OTHER);
	is_told_of(90);
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "worker", -1);
	assert_cell(1, "picked", -1);
}

static void an_interrupt_that_is_sent_again_tells_of_other_packets(void **state)
{
	(void)state;
	hands_on_twice();
	is_told_of(90);
	world_close(300);

	assert_int_equal(fake_rows("request"), 3);
	assert_cell(1, "sent", 78);
	assert_cell(1, "picked", 70);
	assert_cell(2, "sent", 90);
	assert_cell(2, "picked", 82);
	assert_cell(2, "handled", 100);
}

static void a_worker_that_is_awake_may_not_have_taken_it(void **state)
{
	(void)state;
	hands_on_twice();
	switches(HOST, 1, 86, OTHER, ASLEEP, SECOND);
	/* It has not taken this one yet. */
	hands_on(88);
	wakes(1, 89, SECOND, OTHER);
	is_handled(90);
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "sent", 78);
	assert_cell(1, "picked", 70);
}

static void what_a_sleeping_worker_was_handed_it_has_taken(void **state)
{
	(void)state;
	hands_on_twice();
	switches(HOST, 1, 86, OTHER, ASLEEP, 0);
	is_handled(90);
	world_close(300);

	assert_int_equal(fake_rows("request"), 3);
	assert_cell(2, "sender", thread_row(HOST, OTHER));
	assert_cell(2, "worker", thread_row(HOST, SECOND));
	assert_cell(2, "picked", 82);
	assert_cell(2, "sent", -1);
	assert_cell(2, "handled", 100);
}

/* vm's SHELL sends a packet, and kicks for it. */
static void sends_and_kicks(ns_t t)
{
	happens(VM, 0, t, NET_XMIT, SHELL, 0);
	exits(HOST, 0, t + 2, 100, EXIT_NPF);
	wakes(0, t + 4, 100, OTHER);
	enters(HOST, 0, t + 6, 100);
}

static void a_worker_that_is_at_work_is_not_kicked(void **state)
{
	(void)state;
	open_net_world();
	switches(HOST, 1, 62, SECOND, ASLEEP, 0);
	sends_and_kicks(70);
	switches(HOST, 1, 80, 0, RUNNABLE, OTHER);
	happens(HOST, 1, 90, NET_XMIT, OTHER, 0);
	happens(VM, 0, 100, NET_XMIT, SHELL, 0);
	happens(HOST, 1, 110, NET_XMIT, OTHER, 0);
	/* Two of them: which one is handed on is not known. */
	happens(VM, 0, 120, NET_XMIT, SHELL, 0);
	happens(VM, 0, 121, NET_XMIT, SHELL, 0);
	happens(HOST, 1, 130, NET_XMIT, OTHER, 0);
	happens(HOST, 1, 131, NET_XMIT, OTHER, 0);
	world_close(300);

	assert_int_equal(fake_rows("request"), 3);
	assert_cell(1, "kicked", 72);
	assert_cell(1, "done", 90);
	assert_cell(2, "kind", 4);
	assert_cell(2, "kicked", -1);
	assert_cell(2, "issued", 100);
	assert_cell(2, "done", 110);
	assert_cell(2, "thread", thread_row(VM, SHELL));
	assert_cell(2, "worker", thread_row(HOST, OTHER));
}

static void what_a_soft_interrupt_sends_is_no_threads(void **state)
{
	(void)state;
	open_net_world();
	switches(HOST, 1, 62, SECOND, ASLEEP, 0);
	happens(VM, 0, 68, SOFTIRQ_ENTRY, SHELL, 1);
	sends_and_kicks(70);
	happens(VM, 0, 77, SOFTIRQ_EXIT, SHELL, 1);
	switches(HOST, 1, 80, 0, RUNNABLE, OTHER);
	happens(HOST, 1, 90, NET_XMIT, OTHER, 0);
	world_close(300);

	assert_int_equal(fake_rows("request"), 2);
	assert_cell(1, "kind", 4);
	assert_cell(1, "issued", 70);
	assert_cell(1, "thread", -1);
}

static void requests_without_an_end_do_not_fill_the_memory(void **state)
{
	(void)state;
	open_world(2);
	for (int i = 0; i < 5000; i++)
		issues(VM, 0, 100 + i, SHELL, DISK, 64 + i, 4096, 0);
	completes(VM, 0, 6000, SHELL, DISK, 64);
	completes(VM, 0, 6001, SHELL, DISK, 64 + 4999);
	world_close(7000);

	assert_int_equal(fake_rows("request"), 1);
	assert_cell(0, "sector", 64 + 4999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_goes_through_all_layers),
		cmocka_unit_test(without_the_guests_events_its_kick_and_the_answer_are_left),
		cmocka_unit_test(what_answers_a_doorbell_was_seen_to_do_so_twice),
		cmocka_unit_test(another_devices_interrupt_is_no_answer),
		cmocka_unit_test(what_seldom_answers_is_no_answer),
		cmocka_unit_test(what_answers_amid_others_is_no_answer),
		cmocka_unit_test(a_doorbell_may_get_another_vector),
		cmocka_unit_test(without_doorbells_one_vector_must_have_answered_all),
		cmocka_unit_test(a_doorbell_may_be_a_queue_at_a_port),
		cmocka_unit_test(other_ports_are_no_doorbells),
		cmocka_unit_test(a_doorbell_may_be_named_late),
		cmocka_unit_test(after_the_guests_trace_its_kick_and_the_answer_are_left),
		cmocka_unit_test(without_the_hosts_events_only_the_ends_are_known),
		cmocka_unit_test(who_is_woken_takes_up_what_that_kick_tells),
		cmocka_unit_test(one_kick_tells_of_all_requests_before_it),
		cmocka_unit_test(the_size_tells_which_request_the_disk_works_for),
		cmocka_unit_test(the_place_tells_which_request_the_disk_works_for),
		cmocka_unit_test(the_thread_tells_which_request_the_disk_works_for),
		cmocka_unit_test(the_only_one_under_way_is_served),
		cmocka_unit_test(after_a_gap_of_the_vms_another_one_may_be_served),
		cmocka_unit_test(when_tracing_begins_another_one_may_be_served),
		cmocka_unit_test(after_a_gap_of_the_hosts_an_earlier_one_may_be_served),
		cmocka_unit_test(after_a_gap_who_has_just_picked_it_up_tells),
		cmocka_unit_test(after_a_gap_a_kick_may_tell_of_an_unseen_one_too),
		cmocka_unit_test(a_disks_work_that_a_gap_cuts_has_no_length),
		cmocka_unit_test(who_works_for_nobody_known_may_work_for_a_vm),
		cmocka_unit_test(who_was_there_before_the_trace_may_work_for_a_vm),
		cmocka_unit_test(who_is_of_another_process_works_for_no_vm),
		cmocka_unit_test(an_exit_for_something_else_is_no_kick),
		cmocka_unit_test(who_was_woken_before_the_device_was_told_does_not_work_for_it),
		cmocka_unit_test(of_several_woken_early_nobody_is_known_to_work_for_it),
		cmocka_unit_test(the_vcpus_own_thread_may_do_the_work),
		cmocka_unit_test(an_interrupt_from_before_a_request_is_not_its_answer),
		cmocka_unit_test(lost_events_end_what_is_under_way),
		cmocka_unit_test(what_the_host_did_in_a_gap_is_not_known),
		cmocka_unit_test(a_kick_before_a_gap_has_no_answer),
		cmocka_unit_test(a_kick_that_led_to_no_work_has_no_answer),
		cmocka_unit_test(of_two_kicks_an_unknown_ones_work_may_be_for_either),
		cmocka_unit_test(an_interrupt_in_a_gap_is_not_the_next_one),
		cmocka_unit_test(what_may_have_ended_unseen_is_not_gone_on_with),
		cmocka_unit_test(who_put_it_into_a_queue_unseen_is_not_known),
		cmocka_unit_test(a_packet_ends_where_the_host_hands_it_on),
		cmocka_unit_test(packets_that_came_go_back_to_who_told_of_them),
		cmocka_unit_test(a_packet_for_a_worker_that_is_awake_is_known_by_its_device),
		cmocka_unit_test(packets_from_several_are_nobodys),
		cmocka_unit_test(an_interrupt_that_is_sent_again_tells_of_other_packets),
		cmocka_unit_test(a_worker_that_is_awake_may_not_have_taken_it),
		cmocka_unit_test(what_a_sleeping_worker_was_handed_it_has_taken),
		cmocka_unit_test(a_worker_that_is_at_work_is_not_kicked),
		cmocka_unit_test(what_a_soft_interrupt_sends_is_no_threads),
		cmocka_unit_test(requests_without_an_end_do_not_fill_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
