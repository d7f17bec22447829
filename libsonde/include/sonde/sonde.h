/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

/*
 * libsonde: what ran on every CPU of a machine, through all its VMs and containers.
 *
 *	sonde/types.h    times, rows, errors
 *	sonde/analyze.h  traces in, a history out
 *	sonde/history.h      open a history: machines, CPUs, threads; what was when
 *	sonde/tables.h    what analyses find in it
 *	sonde/events.h   the events themselves, merged over all machines
 *	sonde/time.h     times as people write them
 *	sonde/check.h    is a trace or a history sound?
 *
 * docs/examples/ has programs that use it.
 */
#include <sonde/types.h>
#include <sonde/analyze.h>
#include <sonde/history.h>
#include <sonde/tables.h>
#include <sonde/events.h>
#include <sonde/time.h>
#include <sonde/check.h>

#endif
