/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One sample, in the parts that lie between the loops over the echo canceller's banks: whoever runs it brings the loops
 * (QAM_EACH_BANK(q, work) calls work(q, bank) for each bank of q).
 */
#ifndef PUNCTUAL_QAM_STEP_H
#define PUNCTUAL_QAM_STEP_H

#include "qam_echo.h"
#include "qam_send.h"
#include "qam_session.h"

/* Takes a received sample and returns the one to send. */
QAM_INLINE __s32 qam_step(struct qam *q, __s32 received)
{
	__s32 sent = qam_send_sample(q);

	qam_echo_push(q, sent);
	QAM_EACH_BANK(q, qam_echo_filter);
	qam_echo_cancel(q, received);
	qam_echo_pace(q);
	QAM_EACH_BANK(q, qam_echo_learn);
	qam_receive_sample(q);
	qam_receive(q);
	qam_session(q);
	q->samples++;
	return sent;
}

#endif
