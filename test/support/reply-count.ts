/**
 * Counts the replies of the servers of a test, and how many of them were a 500, for the line that
 * `npm run test:faults -- hostile` ends with (test/runner/hostile.ts), which sets `COUNT_REPLIES`.
 */
const isWanted = process.env.COUNT_REPLIES !== undefined;
let [all, of500] = [0, 0];

/** Called for each reply of a server in this process. */
export const countReply = (status: number): void => {
  all += 1;
  if (status === 500) of500 += 1;
};

/** Leaves out what a test made its own routes answer. */
export const forgetReplies = (): void => {
  [all, of500] = [0, 0];
};

/** Prints what was counted since the last call. */
export const printReplies = (): void => {
  if (isWanted) console.log(`\nfigures: ${JSON.stringify({ name: 'replies', all, of500 })}`);
  forgetReplies();
};

/** The same of a node that is about to stop; one that does not answer is not counted. */
export const printRepliesOf = async (adminUrl: string): Promise<void> => {
  if (!isWanted) return;
  const text = await fetch(`${adminUrl}/metrics`).then((reply) => reply.text(), String);
  for (const [, status, replies] of text.matchAll(
    /^rollcall_http_requests_total\{.*status="(\d+)"\} (\d+)$/gm,
  )) {
    all += Number(replies);
    if (status === '500') of500 += Number(replies);
  }
  printReplies();
};
