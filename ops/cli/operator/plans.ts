/**
 * Follows plans of void votes (http/operator/void-plans.ts), which a node works on in the background.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { AdminOperation } from '../../../http/operator/operation.ts';
import type { Terminal } from '../command.ts';
import { createProgress } from '../progress.ts';
import type { OperatorReply } from './call.ts';

const lookEveryMs = 500;
const titles: Readonly<Record<string, string>> = {
  planning: 'Running the query',
  voiding: 'Voiding',
  undoing: 'Undoing',
};

/** Whether a dry run of the operation makes a plan, which the request itself then names. */
export const isPlanned = ({ route }: AdminOperation): boolean =>
  'plan' in ((route.body as { readonly properties?: object } | undefined)?.properties ?? {});

/** Shows the progress of the plan in a reply. Resolves to a reply with the plan when the node has done it. */
export const followPlan = async (
  first: OperatorReply,
  terminal: Terminal,
  read: (path: string) => Promise<OperatorReply>,
): Promise<OperatorReply> => {
  const title = titles[String(first.answer.state)];
  if (title === undefined || typeof first.answer.plan !== 'string') return first;
  const progress = createProgress(terminal.err, title, 'votes');
  let reply = first;
  while (reply.status === 200 && reply.answer.state === first.answer.state && !terminal.signal.aborted) {
    progress.update(Number(reply.answer.done), Number(reply.answer.votes));
    await pause(lookEveryMs);
    reply = await read(`/votes/void/${first.answer.plan}`);
  }
  progress.stop();
  return reply;
};
