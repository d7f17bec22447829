// SPDX-License-Identifier: GPL-2.0-only
/* Events of block devices and network interfaces. */
#include <linux/blk-mq.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

#include <trace/events/block.h>
#include <trace/events/net.h>

#include "probes.h"
#include "stream.h"

static void block_record(enum ht_record record, struct request *rq, u64 bytes)
{
	const u64 args[] = {
		rq->q->disk ? disk_devt(rq->q->disk) : 0,
		blk_rq_pos(rq),
		bytes,
		op_is_write(req_op(rq)),
	};

	stream_record(record, args, ARRAY_SIZE(args));
}

static void on_issue(void *data, struct request *rq)
{
	block_record(HT_BLOCK_ISSUE, rq, blk_rq_bytes(rq));
}

static void on_complete(void *data, struct request *rq, blk_status_t error, unsigned int bytes)
{
	block_record(HT_BLOCK_COMPLETE, rq, bytes);
}

static void net_record(enum ht_record record, int interface, u64 bytes)
{
	const u64 args[] = {interface, bytes};

	stream_record(record, args, ARRAY_SIZE(args));
}

static void on_send(void *data, struct sk_buff *skb, int rc, struct net_device *dev,
		    unsigned int bytes)
{
	net_record(HT_NET_SEND, dev->ifindex, bytes);
}

static void on_receive(void *data, struct sk_buff *skb)
{
	net_record(HT_NET_RECEIVE, skb->dev->ifindex, skb->len);
}

static struct probe probes[] = {
	PROBE(BLOCK, block_rq_issue, on_issue),
	PROBE(BLOCK, block_rq_complete, on_complete),
	PROBE(NET, net_dev_xmit, on_send),
	PROBE(NET, netif_receive_skb, on_receive),
};

const struct probe_table io_probes = {probes, ARRAY_SIZE(probes)};
