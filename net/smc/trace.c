// SPDX-License-Identifier: GPL-2.0
/* The code of the tracepoints, which reads objects of all layers. */

#include <net/sock.h>
#include <rdma/ib_verbs.h>

#include "path.h"
#include "rdma/device.h"
#include "rdma/group.h"
#include "rdma/link.h"
#include "handshake/handshake.h"
#include "stream/stream.h"
#include "wire/cdc.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
