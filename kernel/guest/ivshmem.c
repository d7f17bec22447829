// SPDX-License-Identifier: GPL-2.0-only
/* See ivshmem.h. */
#include <linux/cc_platform.h>
#include <linux/io.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "channel/hypertrace.h"
#include "ivshmem.h"

#define VENDOR 0x1af4
#define DEVICE 0x1110
#define MEMORY_BAR 2
#define OWNER "sonde_guest"

static char *ivshmem = "";
module_param(ivshmem, charp, 0444);
MODULE_PARM_DESC(ivshmem, "which ivshmem device, as in 0000:00:05.0 (the first that is free)");

static struct pci_dev *device;
static void *mapped;

/* What others keep there is left alone: all zero, or what an earlier load left. */
static bool may_be_used(const void *memory)
{
	return !memchr_inv(memory, 0, sizeof(struct ht_region)) ||
	       !memcmp(memory, HT_REGION_MAGIC, sizeof(((struct ht_region *)NULL)->magic));
}

static int map(struct pci_dev *pci, size_t *bytes, const char **why)
{
	int ret;

	*why = "the device has a driver";
	if (pci->driver)
		return -EBUSY;
	*why = "the device cannot be enabled";
	ret = pci_enable_device(pci);
	if (ret)
		return ret;
	*why = "the device's memory is in use";
	ret = pci_request_region(pci, MEMORY_BAR, OWNER);
	if (ret)
		goto out_enabled;
	*bytes = pci_resource_len(pci, MEMORY_BAR);
	*why = "the device has no memory that can be mapped";
	mapped = memremap(pci_resource_start(pci, MEMORY_BAR), *bytes, MEMREMAP_WB);
	ret = -ENOMEM;
	if (!mapped)
		goto out_region;
	*why = "the device's memory holds something else";
	ret = -EBUSY;
	if (may_be_used(mapped))
		return 0;
	memunmap(mapped);
	mapped = NULL;
out_region:
	pci_release_region(pci, MEMORY_BAR);
out_enabled:
	pci_disable_device(pci);
	return ret;
}

int ivshmem_take(void **memory, size_t *bytes, const char **why)
{
	struct pci_dev *pci = NULL;
	int ret = -ENODEV;

	/* What the host shares is not encrypted; how such guests map it was never tried. */
	*why = "this guest's memory is encrypted";
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		return -EOPNOTSUPP;
	*why = "there is no such device";
	while ((pci = pci_get_device(VENDOR, DEVICE, pci))) {
		if (*ivshmem && strcmp(ivshmem, pci_name(pci)))
			continue;
		ret = map(pci, bytes, why);
		if (!ret)
			break;
	}
	device = pci; /* with the reference that the search took */
	*memory = mapped;
	return ret;
}

void ivshmem_give_back(void)
{
	memunmap(mapped);
	mapped = NULL;
	pci_release_region(device, MEMORY_BAR);
	pci_disable_device(device);
	pci_dev_put(device);
	device = NULL;
}
