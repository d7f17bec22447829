// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/sonde_guest: the rings for programs in the guest, such as one that forwards them over a
 * virtio port or a socket.  A read gives whole blocks; each open file reads everything once, on its
 * own.  Nobody who writes waits or looks for readers, so nobody wakes them either: they look again.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "stream.h"

#define LOOK_AGAIN_MS 20

struct reading {
	struct mutex lock; /* of the rest: threads may share a file */
	u8 block[HT_SLOT_BLOCK_MAX];
	u64 next[]; /* by CPU */
};

static int device_file_open(struct inode *inode, struct file *file)
{
	struct reading *r = kvzalloc(struct_size(r, next, nr_cpu_ids), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	mutex_init(&r->lock);
	file->private_data = r;
	return nonseekable_open(inode, file);
}

static int device_file_release(struct inode *inode, struct file *file)
{
	kvfree(file->private_data);
	return 0;
}

/*
 * Copies the next block that is still there, and sets *@next to it; its length, 0 when there is
 * none yet.  What is no block was written by somebody else, and is passed over.
 */
static u32 copy_block(const struct stream *s, const struct ht_ring *ring, u64 *next, u8 *to)
{
	for (;;) {
		u64 written = smp_load_acquire(&s->written); /* ring_end() */
		const struct ht_slot *slot;
		u32 len;

		if (*next == written)
			return 0;
		if (*next + s->nr_slots <= written)
			*next = written - s->nr_slots + 1;
		slot = (const void *)ring + (*next % s->nr_slots + 1) * HT_SLOT_BYTES;
		memcpy(to, slot->block, HT_SLOT_BLOCK_MAX);
		smp_rmb(); /* ring_end(): who saw newer bytes sees the count that tells of it */
		if (READ_ONCE(s->written) >= *next + s->nr_slots)
			continue;
		len = to[4] | to[5] << 8;
		if (len >= HT_HEADER_BYTES && len <= HT_SLOT_BLOCK_MAX)
			return len;
		++*next;
	}
}

static u32 next_block(const struct stream *s, u64 *next, u8 *to)
{
	const struct ht_ring *ring;
	u32 bytes = 0;

	down_read(&sonde_rings_lock);
	ring = smp_load_acquire(&s->ring); /* ring_start() */
	if (ring)
		bytes = copy_block(s, ring, next, to);
	up_read(&sonde_rings_lock);
	return bytes;
}

/* As many blocks as there are and fit. */
static ssize_t read_blocks(struct reading *r, char __user *to, size_t len)
{
	unsigned int cpu;
	size_t done = 0;

	for_each_possible_cpu (cpu) {
		const struct stream *s = per_cpu_ptr(&sonde_streams, cpu);

		while (len - done >= HT_SLOT_BLOCK_MAX) {
			u32 bytes = next_block(s, &r->next[cpu], r->block);

			if (!bytes)
				break;
			if (copy_to_user(to + done, r->block, bytes))
				return done ? (ssize_t)done : -EFAULT;
			r->next[cpu]++;
			done += bytes;
		}
	}
	return done;
}

static ssize_t device_file_read(struct file *file, char __user *to, size_t len, loff_t *unused)
{
	struct reading *r = file->private_data;

	if (len < HT_SLOT_BLOCK_MAX)
		return -EINVAL;
	for (;;) {
		ssize_t done;

		if (mutex_lock_interruptible(&r->lock))
			return -ERESTARTSYS;
		done = read_blocks(r, to, len);
		mutex_unlock(&r->lock);
		if (done)
			return done;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (msleep_interruptible(LOOK_AGAIN_MS))
			return -ERESTARTSYS;
	}
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = device_file_open,
	.release = device_file_release,
	.read = device_file_read,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sonde_guest",
	.fops = &operations,
	.mode = 0400,
};

int chardev_add(void)
{
	return misc_register(&device);
}

void chardev_remove(void)
{
	misc_deregister(&device);
}
