// SPDX-License-Identifier: GPL-2.0-only
/* See stolen.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/processor.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/reboot.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#include "channel/stolen.h"
#include "hypercall.h"
#include "stolen.h"

#define ANNOUNCE_EVERY (5 * HZ)
#define SETTLE_MS 200
#define ANSWER_MS 2000 /* a host that shares looks ten times a second */
#define ASK_AGAIN_MS 400
#define REGION_BYTES_MAX (4u << 20)

static unsigned int stolen_kib = 16;
module_param(stolen_kib, uint, 0444);
MODULE_PARM_DESC(stolen_kib, "memory per CPU in which the host tells when it was held up, in KiB, "
			     "a multiple of 4 up to 1024; 0 none (16)");

static struct st_region *region;
static int hotplug_state = -1;
static DEFINE_MUTEX(lock);
static unsigned int nr_open;
static bool announced; /* since it was loaded */
static bool ended;     /* the kernel ends: nothing is announced any more but that */

static struct st_ring *ring_of(unsigned int cpu)
{
	return (void *)region + ST_PAGE_BYTES + (size_t)cpu * region->ring_bytes;
}

static void announce(enum st_announcement what)
{
	struct ht_call call = {
		.nr = (u64)ST_ANNOUNCE_MAGIC << 48 | (u64)ST_VERSION << 40 | (u64)what << 32 |
		      region->nr_rings,
		.a0 = virt_to_phys(region),
		.a1 = region->bytes,
		.a2 = region->nonce,
		.a3 = region->ring_bytes,
	};

	announced = true;
	hypercall(&call);
}

/* A host that begins to share later, or had to stop, hears it again. */
static void announce_again(struct work_struct *work);
static DECLARE_DELAYED_WORK(again, announce_again);

static void announce_again(struct work_struct *work)
{
	if (READ_ONCE(ended))
		return;
	announce(ST_HERE);
	schedule_delayed_work(&again, ANNOUNCE_EVERY);
}

/* ---- the device ---- */

/* What the host said last holds no more: it may write again. */
static void forget_last_words(void)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		if (READ_ONCE(ring_of(cpu)->told.begun) == ST_LAST_WORD)
			WRITE_ONCE(ring_of(cpu)->told.begun, 0);
	}
}

static int stolen_open(struct inode *inode, struct file *file)
{
	mutex_lock(&lock);
	if (!nr_open++) {
		forget_last_words();
		announce_again(NULL);
	}
	mutex_unlock(&lock);
	return nonseekable_open(inode, file);
}

static int stolen_release(struct inode *inode, struct file *file)
{
	mutex_lock(&lock);
	if (!--nr_open)
		cancel_delayed_work_sync(&again);
	mutex_unlock(&lock);
	return 0;
}

static int stolen_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned long bytes = vma->vm_end - vma->vm_start;

	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	if (vma->vm_pgoff || bytes > region->bytes)
		return -EINVAL;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, VM_MAYWRITE);
#else
	vma->vm_flags &= ~VM_MAYWRITE;
#endif
	return remap_pfn_range(vma, vma->vm_start, virt_to_phys(region) >> PAGE_SHIFT, bytes,
			       vma->vm_page_prot);
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = stolen_open,
	.release = stolen_release,
	.mmap = stolen_mmap,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sonde_stolen",
	.fops = &operations,
	.mode = 0400,
};

/* ---- the memory ---- */

/* What KVM calls this CPU. */
static u32 own_apic_id(void)
{
	if (cpuid_eax(0) >= 0xb) {
		u32 eax, ebx, ecx, edx;

		cpuid_count(0xb, 0, &eax, &ebx, &ecx, &edx);
		if (ebx)
			return edx;
	}
	return cpuid_ebx(1) >> 24;
}

static int cpu_prepare(unsigned int cpu)
{
	struct st_own *own = &ring_of(cpu)->own;

	own->version = ST_VERSION;
	own->cpu = cpu;
	own->vcpu = own_apic_id();
	own->ring_bytes = region->ring_bytes;
	own->nonce = region->nonce;
	smp_wmb();
	memcpy(own->magic, ST_RING_MAGIC, sizeof(own->magic));
	return 0;
}

static int alloc_region(void)
{
	u32 ring_bytes = stolen_kib << 10;
	size_t bytes;
	u64 nonce;

	bytes = ST_PAGE_BYTES + (size_t)nr_cpu_ids * ring_bytes;
	if (bytes > REGION_BYTES_MAX) {
		ring_bytes = ST_PAGE_BYTES;
		bytes = ST_PAGE_BYTES + (size_t)nr_cpu_ids * ring_bytes;
	}
	if (bytes > REGION_BYTES_MAX)
		return -ENOMEM;
	region = alloc_pages_exact(bytes, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!region)
		return -ENOMEM;
	do {
		get_random_bytes(&nonce, sizeof(nonce));
	} while (!nonce);
	region->version = ST_VERSION;
	region->nr_rings = nr_cpu_ids;
	region->ring_bytes = ring_bytes;
	region->bytes = bytes;
	region->nonce = nonce;
	memcpy(region->magic, ST_REGION_MAGIC, sizeof(region->magic));
	return 0;
}

static bool was_told(bool *is_over)
{
	bool told = false, over = true;
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		u64 begun = READ_ONCE(ring_of(cpu)->told.begun);

		told |= begun != 0;
		over &= begun == 0 || begun == ST_LAST_WORD;
	}
	*is_over = told && over;
	return told;
}

/* Without its nonce the host writes to no ring, even if it has not heard the call. */
static void forget_nonces(void)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu)
		WRITE_ONCE(ring_of(cpu)->own.nonce, 0);
}

/*
 * The host may be about to write, so it has the last word: only then the memory is ours again.  If
 * it told something and then gives no answer, the memory stays as it is for ever.
 */
static void free_region(void)
{
	size_t bytes = region->bytes;
	bool is_over = false, told = false;
	unsigned int waited;

	if (announced) {
		for (waited = 0; waited < ANSWER_MS && !is_over; waited += 20) {
			if (waited % ASK_AGAIN_MS == 0) /* the host may lose one */
				announce(ST_GONE);
			msleep(20);
			told = was_told(&is_over);
		}
		if (!told) {
			/* One that has looked and not written yet may still do so. */
			forget_nonces();
			msleep(SETTLE_MS);
			told = was_told(&is_over);
		}
	}
	if (told && !is_over) {
		pr_warn("the host does not answer: %zu bytes that it may write to stay its\n",
			bytes);
	} else {
		memset(region, 0, bytes);
		free_pages_exact(region, bytes);
	}
	region = NULL;
}

static int on_reboot(struct notifier_block *block, unsigned long action, void *data)
{
	/* With kexec readers are still there, and one that opens would call the host back. */
	WRITE_ONCE(ended, true);
	cancel_delayed_work_sync(&again);
	stolen_end();
	return NOTIFY_DONE;
}

static struct notifier_block reboot_block = {.notifier_call = on_reboot};

void stolen_end(void)
{
	if (!region || !announced)
		return;
	/* Nobody waits for the host's answer. */
	forget_nonces();
	announce(ST_GONE);
}

int stolen_check(void)
{
	if (stolen_kib % 4 || stolen_kib > 1024) {
		pr_err("stolen_kib=%u is no multiple of 4 up to 1024\n", stolen_kib);
		return -EINVAL;
	}
	return 0;
}

void stolen_add(void)
{
	const char *why;
	int ret;

	if (!stolen_kib || !hypercalls_work(&why))
		return;
	if (alloc_region()) {
		pr_warn("no memory in one piece for /dev/sonde_stolen; a smaller stolen_kib may "
			"do\n");
		return;
	}
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "sonde/stolen:online", cpu_prepare, NULL);
	if (ret < 0)
		goto out_region;
	hotplug_state = ret;
	register_reboot_notifier(&reboot_block);
	ret = misc_register(&device);
	if (!ret)
		return;
	unregister_reboot_notifier(&reboot_block);
	cpuhp_remove_state_nocalls(hotplug_state);
out_region:
	free_region();
	pr_warn("there is no /dev/sonde_stolen: error %d\n", ret);
}

void stolen_remove(void)
{
	if (!region)
		return;
	misc_deregister(&device);
	unregister_reboot_notifier(&reboot_block);
	cpuhp_remove_state_nocalls(hotplug_state);
	free_region();
}
