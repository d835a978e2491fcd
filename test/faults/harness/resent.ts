/**
 * The verdict when Redis may return without its newest changes: nodes resend them, and report how many items
 * they resent and how many votes a newer one of the same user replaced.
 *
 * So many pairs of votes are forgiven, see `merged-votes.ts`, and nothing else.
 */
import type { Figures } from './figures.ts';
import type { JudgeOptions, Stack } from './stack.ts';

export interface Resent {
  /** Acknowledged items that the store lost and a node resent. */
  readonly resent: number;
  /** Those that a newer vote of the same user stands for. */
  readonly merged: number;
}

/** The stack's judgement, with what the living nodes report as resent. */
export const judgeWithResent = async (
  stack: Stack,
  options: Omit<JudgeOptions, 'merged'>,
): Promise<Figures & Resent> => {
  let reported: Resent = { resent: 0, merged: 0 };
  const merged = async (): Promise<number> => {
    reported = await readResent(stack);
    return reported.merged;
  };
  return { ...(await stack.judge({ ...options, merged })), ...reported };
};

const readResent = async ({ alive, client }: Stack): Promise<Resent> => {
  const texts = await Promise.all(
    alive().map(async ({ node }) => (await client.ask(`${node.adminUrl}/metrics`)).text),
  );
  const sum = (how: string): number => {
    const name = new RegExp(`^rollcall_retransmit_results_total{outcome="${how}"} (\\d+)`, 'm');
    return texts.reduce((total, text) => total + Number(name.exec(text)?.[1] ?? 0), 0);
  };
  return { resent: sum('applied'), merged: sum('merged') };
};
