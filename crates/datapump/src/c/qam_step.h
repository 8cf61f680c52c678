/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One sample. Whoever runs it provides the loops, QAM_EACH(q, count, work) calls work(q, index) for each index, and
 * says what a part is (QAM_PART, QAM_BEGIN, QAM_END, QAM_CALL): here a function, in BPF one that is verified by itself.
 * What one part finds is in the state for the next, so that the verifier need not follow it from one into the other.
 */
#ifndef PUNCTUAL_QAM_STEP_H
#define PUNCTUAL_QAM_STEP_H

#include "qam_echo.h"
#include "qam_send.h"
#include "qam_session.h"

/* Subtracts the echo of the newest sent sample from a received one. */
QAM_PART(qam_cancel_echo)
{
	QAM_BEGIN
	qam_echo_push(q, q->sent);
	QAM_EACH(q, q->banks, qam_echo_filter);
	qam_echo_cancel(q, q->received);
	qam_echo_pace(q);
	QAM_EACH(q, q->banks, qam_echo_learn);
	QAM_END
}

/* Takes a received sample (`received`) and makes the one to send (`sent`). */
QAM_PART(qam_step)
{
	QAM_BEGIN
	QAM_CALL(qam_send_sample);
	QAM_CALL(qam_cancel_echo);
	QAM_CALL(qam_receive_sample);
	QAM_CALL(qam_receive);
	QAM_CALL(qam_session);
	q->samples++;
	QAM_END
}

#endif
