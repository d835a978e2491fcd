/**
 * The verdict when Redis may return without its newest changes: nodes resend them, and report how many items
 * they resent and how many votes a newer one of the same user replaced.
 *
 * So many pairs of votes are forgiven, see `merged-votes.ts`, and nothing else.
 */
import type { Figures } from './figures.ts';
import type { JudgeOptions, Stack } from './stack.ts';

export interface Healed {
  /** Acknowledged items that the store lost and got back; those that a newer vote of the user stands for. */
  readonly healed: number;
  readonly merged: number;
}

/** The stack's judgement, with what the living nodes say they gave back. */
export const judgeWithHealed = async (
  stack: Stack,
  options: Omit<JudgeOptions, 'merged'>,
): Promise<Figures & Healed> => {
  let told: Healed = { healed: 0, merged: 0 };
  const merged = async (): Promise<number> => {
    told = await healedBy(stack);
    return told.merged;
  };
  return { ...(await stack.judge({ ...options, merged })), ...told };
};

const healedBy = async ({ alive, client }: Stack): Promise<Healed> => {
  const texts = await Promise.all(
    alive().map(async ({ node }) => (await client.ask(`${node.adminUrl}/metrics`)).text),
  );
  const sum = (how: string): number => {
    const name = new RegExp(`^rollcall_retransmit_results_total{outcome="${how}"} (\\d+)`, 'm');
    return texts.reduce((total, text) => total + Number(name.exec(text)?.[1] ?? 0), 0);
  };
  return { healed: sum('applied'), merged: sum('merged') };
};
