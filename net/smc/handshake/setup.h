/* SPDX-License-Identifier: GPL-2.0 */
/* Steps of a setup that are the same for all paths and for both ends of a handshake. */
#ifndef SMC_HANDSHAKE_SETUP_H
#define SMC_HANDSHAKE_SETUP_H

#include "path.h"

struct smc_handshake;

/**
 * smc_setup_new() - begin to set up a connection on a path
 * @type: one of smc_path_types[]
 * @hs: handshake, which outlives the setup
 *
 * Context: process, may sleep.
 * Return: the setup, to be ended by smc_setup_end() and smc_setup_free(); NULL if memory is short.
 */
struct smc_path_setup *smc_setup_new(const struct smc_path_type *type, struct smc_handshake *hs);

/**
 * smc_setup_diagnosis() - translate the result of a step into a diagnosis
 * @s: setup on which the step was performed
 * @rc: result of the step: 0 or -errno
 *
 * Return: 0; the diagnosis that a DECLINE is to carry; or -ECONNRESET if it is too late for a
 * DECLINE.
 */
s64 smc_setup_diagnosis(const struct smc_path_setup *s, int rc);

/**
 * smc_setup_describe() - fill in this end's ACCEPT or CONFIRM, except the release
 * @s: setup with a stream
 * @type: type of the message
 * @a: message to fill in
 */
void smc_setup_describe(struct smc_path_setup *s, enum smc_clc_type type,
			struct smc_clc_agreement *a);

/**
 * smc_setup_succeed() - count a setup that succeeded, and get its stream
 * @s: setup whose last step succeeded
 *
 * Return: the stream, with the setup's reference.
 */
struct smc_stream *smc_setup_succeed(const struct smc_path_setup *s);

/**
 * smc_setup_end() - release everything that the setup holds, but not the setup itself
 * @s: setup, or NULL
 * @keep: true if the handshake has got a stream, from this setup or from another one. If false, the
 *	function also ends this setup's stream, if there is one
 */
void smc_setup_end(struct smc_path_setup *s, bool keep);

/**
 * smc_setup_free() - free a setup that was ended
 * @s: setup, or NULL
 * @peer_reason: diagnosis code of the peer's DECLINE, from which the path may learn; or 0
 */
void smc_setup_free(struct smc_path_setup *s, u32 peer_reason);

#endif
