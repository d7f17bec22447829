// SPDX-License-Identifier: GPL-2.0-only
/* See ivshmem.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cc_platform.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "channel/hypertrace.h"
#include "ivshmem.h"

#define VENDOR 0x1af4
#define DEVICE 0x1110
#define MEMORY_BAR 2
#define CHUNK_BYTES (1 << 20)

static char *ivshmem = "";
module_param(ivshmem, charp, 0444);
MODULE_PARM_DESC(ivshmem, "which ivshmem device, as in 0000:00:05.0 (the first whose memory is "
			  "all zero)");

/* While ivshmem_take() looks for a device; a device that comes later is none of ours. */
static const struct ivshmem_user *taker;
static const char *why_not;
static int how;

static DEFINE_MUTEX(taking);		/* of the rest: devices come and go in parallel */
static const struct ivshmem_user *user; /* of the one that was taken */
static void *mapped;
static bool giving_back;

static bool is_zero(const void *memory, size_t bytes)
{
	size_t done;

	for (done = 0; done < bytes; done += CHUNK_BYTES) {
		if (memchr_inv(memory + done, 0, min_t(size_t, bytes - done, CHUNK_BYTES)))
			return false;
		cond_resched();
	}
	return true;
}

/*
 * What others keep there is left alone.  What looks like ours may be another VM's that shares the
 * device: only who set both up knows.
 */
static bool may_be_used(const void *memory, size_t bytes)
{
	const struct ht_region *region = memory;

	if (bytes < sizeof(*region))
		return false;
	if (*ivshmem && !memcmp(region->magic, HT_REGION_MAGIC, sizeof(region->magic)))
		return true;
	return is_zero(memory, bytes);
}

static int map(struct pci_dev *pci, const char **why)
{
	size_t bytes = pci_resource_len(pci, MEMORY_BAR);
	int ret;

	*why = "the device cannot be enabled";
	ret = pci_enable_device(pci);
	if (ret)
		return ret;
	*why = "the device's memory is in use";
	ret = pci_request_region(pci, MEMORY_BAR, KBUILD_MODNAME);
	if (ret)
		goto out_enabled;
	*why = "the device has no memory that can be mapped";
	mapped = memremap(pci_resource_start(pci, MEMORY_BAR), bytes, MEMREMAP_WB);
	ret = -ENOMEM;
	if (!mapped)
		goto out_region;
	*why = *ivshmem ? "the device's memory holds something else"
			: "the device's memory is not all zero, and ivshmem= does not name it";
	ret = may_be_used(mapped, bytes) ? taker->take(mapped, bytes, why) : -EBUSY;
	if (!ret)
		return 0;
	memunmap(mapped);
	mapped = NULL;
out_region:
	pci_release_region(pci, MEMORY_BAR);
out_enabled:
	pci_disable_device(pci);
	return ret;
}

static int ivshmem_probe(struct pci_dev *pci, const struct pci_device_id *unused)
{
	int ret = -ENODEV;

	mutex_lock(&taking);
	if (taker && !mapped && (!*ivshmem || !strcmp(ivshmem, pci_name(pci)))) {
		how = map(pci, &why_not);
		if (!how) {
			user = taker;
			ret = 0;
		}
	}
	mutex_unlock(&taking);
	return ret;
}

static void ivshmem_remove(struct pci_dev *pci)
{
	if (!giving_back)
		pr_warn("%s is removed: events are lost from now on\n", pci_name(pci));
	mutex_lock(&taking);
	user->lose();
	memunmap(mapped);
	mapped = NULL;
	pci_release_region(pci, MEMORY_BAR);
	pci_disable_device(pci);
	mutex_unlock(&taking);
}

static const struct pci_device_id devices[] = {{PCI_DEVICE(VENDOR, DEVICE)}, {}};

/* No device table for modprobe: it is loaded by who wants it, not by what is plugged in. */
static struct pci_driver driver = {
	.name = KBUILD_MODNAME,
	.id_table = devices,
	.probe = ivshmem_probe,
	.remove = ivshmem_remove,
	.driver = {.probe_type = PROBE_FORCE_SYNCHRONOUS, .suppress_bind_attrs = true},
};

int ivshmem_take(const struct ivshmem_user *wants, const char **why)
{
	int ret;

	/* What the host shares is not encrypted; how such guests map it was never tried. */
	*why = "this guest's memory is encrypted";
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		return -EOPNOTSUPP;
	why_not = "there is no such device without a driver";
	how = -ENODEV;
	giving_back = false;
	taker = wants;
	ret = pci_register_driver(&driver); /* probes all that there are */
	taker = NULL;
	*why = "no driver can be registered";
	if (ret)
		return ret;
	*why = why_not;
	if (how)
		pci_unregister_driver(&driver);
	return how;
}

void ivshmem_give_back(void)
{
	giving_back = true;
	pci_unregister_driver(&driver);
}
