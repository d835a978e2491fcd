/**
 * `npm run vectors -- COMMAND`: judges a client in any language by the cases of docs/vectors.json.
 *
 * COMMAND runs once. It reads one case per line (`{"id","kind","input"}` as JSON) from standard input and
 * writes one line for each: its answer as JSON, as cases of that kind have it. Prints each promise that an
 * answer breaks. Ends with 0 if all answers are right, else with 1; without a command it says so, with 2.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { vectors as all } from './cases.ts';
import type { Vector } from './vector.ts';

/** Whether an answer is the right one: any order of members, no member more or less. */
export const isRight = ({ answer }: Pick<Vector, 'answer'>, given: unknown): boolean =>
  isDeepStrictEqual(given, answer);

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
};

/** How long a client has for all cases. */
const timeoutMs = 120_000;

/** Runs a client over the cases. Resolves to its answers, fewer than cases if it ended early. */
export const runClient = async (
  command: readonly string[],
  vectors: readonly Vector[],
): Promise<readonly unknown[]> => {
  const [program = '', ...args] = command;
  const client = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(client, 'close'); // Rejects when the program cannot be started.
  client.stdin.on('error', () => {}); // It has ended: its answers are missing.
  for (const { id, kind, input } of vectors) client.stdin.write(`${JSON.stringify({ id, kind, input })}\n`);
  client.stdin.end();
  const answers: unknown[] = [];
  createInterface({ input: client.stdout }).on('line', (line) => answers.push(parse(line)));
  const timer = setTimeout(() => client.kill(), timeoutMs);
  try {
    await ended;
  } finally {
    clearTimeout(timer);
  }
  return answers;
};

const describe = ({ id, promise, answer }: Vector, given: unknown): string =>
  `✘ ${id}: ${promise}\n    expected ${JSON.stringify(answer)}\n    got      ${
    given === undefined ? 'no answer' : JSON.stringify(given)
  }`;

/** Lists the promises that these answers break. */
export const listBroken = (vectors: readonly Vector[], answers: readonly unknown[]): readonly string[] =>
  vectors.flatMap((vector, index) =>
    isRight(vector, answers[index]) ? [] : [describe(vector, answers[index])],
  );

const usage =
  'Usage: npm run vectors -- COMMAND [ARGUMENT]…, such as npm run vectors -- python3 my_client.py\n';

/** Runs the command. Resolves to the exit code. */
export const judge = async (command: readonly string[]): Promise<number> => {
  if (command.length === 0 || command[0] === '--help') {
    process.stdout.write(usage);
    return command.length === 0 ? 2 : 0;
  }
  const answers = await runClient(command, all).catch((error: Error) => {
    process.stderr.write(`${command[0]} cannot be started: ${error.message}\n`);
    return null;
  });
  if (answers === null) return 2;
  const broken = listBroken(all, answers);
  for (const line of broken) process.stdout.write(`${line}\n`);
  process.stdout.write(`${all.length - broken.length} of ${all.length} promises hold\n`);
  return broken.length === 0 ? 0 : 1;
};

if (import.meta.main) process.exitCode = await judge(process.argv.slice(2));
