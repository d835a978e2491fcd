/**
 * What the program says about itself from its start to its end: notes, the addresses, the drain, a failure.
 *
 * With the JSON form of the log each of these is one record of the log, so that every line of the output can
 * be parsed; with the text form it is text for a person at a terminal. Never writes a token to the log: the
 * text form shows those of the demo only.
 */
import type { Logger } from 'pino';
import { formatWelcome, type WelcomeOptions } from '../demo/welcome.ts';
import { createLogger, type LogForm } from './log.ts';

export interface Reporter {
  /** Something the operator should know about this start. */
  reportNote(note: string): void;
  reportReady(welcome: Omit<WelcomeOptions, 'isTerminal'>): void;
  reportDraining(): void;
  reportStopped(): void;
  /** Why the program ends, or did not start. */
  reportFailure(reason: string): void;
}

export const createReporter = (form: LogForm, logger: Logger): Reporter =>
  form === 'json' ? createJsonReporter(logger) : createTextReporter(process.stdout);

/** For the time before the settings are known to be valid: its text goes to standard error. */
export const createEarlyReporter = (form: LogForm): Reporter =>
  form === 'json'
    ? createJsonReporter(createLogger({ level: 'info', form }))
    : createTextReporter(process.stderr);

const createJsonReporter = (logger: Logger): Reporter => ({
  reportNote: (note) => logger.warn(note),
  reportReady: ({ url, adminUrl, version, stores, dataDirectory, demo }) => {
    const places = {
      stores: Object.fromEntries(stores),
      ...(demo && { demo: `${dataDirectory}/demo.json` }),
    };
    logger.info({ url, adminUrl, version, ...places }, 'ready');
  },
  reportDraining: () => logger.info('draining: refusing new work, finishing answers, closing the stores'),
  reportStopped: () => logger.info('stopped'),
  reportFailure: (reason) => logger.fatal(reason),
});

const createTextReporter = (notes: NodeJS.WritableStream): Reporter => ({
  reportNote: (note) => void notes.write(`${note}\n`),
  reportReady: (welcome) =>
    void process.stdout.write(formatWelcome({ ...welcome, isTerminal: process.stdout.isTTY === true })),
  reportDraining: () =>
    void process.stdout.write('Draining: refusing new work, finishing answers, then closing the stores …\n'),
  reportStopped: () => {},
  reportFailure: (reason) => void process.stderr.write(`${reason}\n`),
});
