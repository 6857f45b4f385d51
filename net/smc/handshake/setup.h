/* SPDX-License-Identifier: GPL-2.0 */
/* What both ends of a handshake, or the one thread that performs both, do with a path. */
#ifndef SMC_HANDSHAKE_SETUP_H
#define SMC_HANDSHAKE_SETUP_H

#include "path.h"

struct smc_handshake;

/**
 * smc_setup_new() - begin to set up a connection on a path
 * @type: the path
 * @hs: handshake
 * @role: of this end
 *
 * Context: process, may sleep.
 * Return: the setup, to be ended and freed; or NULL.
 */
struct smc_path_setup *smc_setup_new(const struct smc_path_type *type, struct smc_handshake *hs,
				     enum smc_role role);

/**
 * smc_setup_diagnosis() - translate the result of a step
 * @s: setup
 * @rc: what the step returned: 0 or -errno
 *
 * Return: 0; the diagnosis that a DECLINE is to carry; -ECONNRESET if it is too late for one.
 */
s64 smc_setup_diagnosis(const struct smc_path_setup *s, int rc);

/**
 * smc_setup_describe() - what this end's ACCEPT or CONFIRM says, but for its release
 * @s: setup with a stream
 * @type: of the message
 * @a: filled
 */
void smc_setup_describe(struct smc_path_setup *s, enum smc_clc_type type,
			struct smc_clc_agreement *a);

/**
 * smc_setup_succeed() - hand the stream over to the handshake
 * @s: setup whose last step succeeded
 * @hs: handshake
 */
void smc_setup_succeed(struct smc_path_setup *s, struct smc_handshake *hs);

/**
 * smc_setup_end() - release what the setup holds, but for itself
 * @s: setup, or NULL
 * @hs: its handshake; a stream that this does not have ends
 */
void smc_setup_end(struct smc_path_setup *s, const struct smc_handshake *hs);

/**
 * smc_setup_free() - free a setup that was ended
 * @s: setup, or NULL
 * @peer_reason: why the peer declined, a diagnosis, or 0
 */
void smc_setup_free(struct smc_path_setup *s, u32 peer_reason);

#endif
