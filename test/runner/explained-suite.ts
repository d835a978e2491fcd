/**
 * uvu's `suite`, which also prints why a hook threw: uvu drops that error, and with it the rest of the suite.
 * It can run the cases of a suite from the last to the first (`npm test -- --reversed`).
 *
 * child.ts loads this module in place of `uvu`; a test file that is run by hand gets uvu itself.
 */
import { type Callback, type Test, suite as uvuSuite } from 'uvu';

type Register = (hook: Callback) => void;

let failures = 0;

/** How many hooks have thrown in this process. */
export const countHookFailures = (): number => failures;

export const suite = (name: string): Test => {
  const test = uvuSuite(name);
  const explain =
    (register: Register): Register =>
    (hook) =>
      register(async (context) => {
        try {
          await hook(context);
        } catch (error) {
          failures += 1;
          const { stack } = error instanceof Error ? error : new Error(String(error));
          process.stdout.write(`\n   FAIL  ${name}  "a hook"\n    ${stack}\n`);
          throw error;
        }
      });
  const replace = (hooks: Test['before']): Test['before'] =>
    Object.assign(explain(hooks), { each: explain(hooks.each) });
  const explained = Object.assign(test, { before: replace(test.before), after: replace(test.after) });
  return process.env.TEST_ORDER === 'reversed' ? reverse(explained) : explained;
};

/** A suite whose cases run from the last to the first: one that needs an earlier one fails. */
const reverse = (test: Test): Test => {
  const cases: Parameters<Test>[] = [];
  const register = (...words: Parameters<Test>): void => void cases.push(words);
  const run = (): void => {
    for (const words of cases.reverse()) test(...words);
    test.run();
  };
  return Object.assign(register, test, { run }) as Test;
};
