/**
 * A suite for tests that need a program which a machine may lack: there its tests are skipped, each with a
 * line that says why, and the runner counts these lines.
 */
import { suite, type Test } from 'uvu';

/** Prints the line that the runner counts. */
export const reportSkipped = (title: string, reason: string): void =>
  console.log(`\nskipped: ${title}: ${reason}`);

/** `find` throws when the program is neither there nor can be installed. */
export const createSuiteNeeding = (name: string, find: () => unknown): Test => {
  const test = suite(name);
  try {
    find();
    return test;
  } catch (error) {
    const reason = (error as Error).message.replaceAll('\n', ' ');
    const ignore = Object.assign(() => {}, { each: () => {} });
    const skip = (title: string) => test(title, () => reportSkipped(`${name}: ${title}`, reason));
    return Object.assign(skip, { only: skip, skip, before: ignore, after: ignore, run: test.run });
  }
};
