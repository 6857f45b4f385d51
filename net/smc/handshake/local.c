// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake of two ends in one namespace, performed by one thread without messages. Each end
 * knows what the messages would tell it, except the other end's element, which the thread hands
 * over.
 */

#include <net/sock.h>

#include "admin/blackhole.h"
#include "admin/eid.h"
#include "admin/net.h"
#include "handshake.h"
#include "setup.h"
#include "tcp.h"

static bool smc_local_is_allowed(const struct smc_handshake *hs)
{
	return !READ_ONCE(hs->aborted) && !hs->refusal && !smc_tcp_is_secured(hs->sk);
}

static struct smc_path_setup *smc_local_prepare(const struct smc_path_type *type,
						struct smc_handshake *hs)
{
	struct smc_path_setup *s = smc_setup_new(type, hs);

	/*
	 * Both ends have the host's list of EIDs. If they exchanged CLC messages, they would agree
	 * on the first EID of the list.
	 */
	if (s)
		smc_eid_list(&s->eid, 1);
	return s;
}

static void smc_local_finish(struct smc_path_setup *s, struct smc_handshake *hs, bool agreed)
{
	if (agreed) {
		hs->stream = smc_setup_succeed(s);
		smc_blackhole_forget(smc_net(sock_net(hs->sk)), &hs->blackhole_key);
	}
	smc_setup_end(s, hs->stream);
	smc_setup_free(s, 0);
}

/* Performs both handshakes on one path. Return: whether both ends have their stream. */
static bool smc_local_pair(const struct smc_path_type *type, struct smc_handshake *client,
			   struct smc_handshake *server)
{
	struct smc_path_setup *c, *s;
	bool agreed;

	if (!type->pair)
		return false;
	c = smc_local_prepare(type, client);
	s = smc_local_prepare(type, server);
	agreed = c && s && type->pair(c, s);
	smc_local_finish(c, client, agreed);
	smc_local_finish(s, server, agreed);
	return agreed;
}

bool smc_handshake_local(struct smc_handshake *client, struct smc_handshake *server)
{
	bool agreed = false;
	int i;

	if (!smc_local_is_allowed(client) || !smc_local_is_allowed(server))
		return false;
	for (i = 0; i < SMC_N_PATHS && !agreed; i++)
		agreed = smc_local_pair(smc_path_types[i], client, server);
	return agreed;
}
