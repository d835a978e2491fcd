/**
 * Creates the log: one line per record on standard output, as JSON for programs or as text for people.
 *
 * Both forms have the time (ISO 8601, UTC), the level's name, the message and its fields; under the journal
 * of systemd, which stamps each line, no time. The text form escapes control characters, so no value can
 * forge a line or send commands to a terminal. Created once per process by main.ts; rollcall.ts passes it to
 * everything that logs.
 */
import { fstatSync } from 'node:fs';
import { type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino';
import { journalStream } from '../setup/signals.mjs';

export type LogForm = 'text' | 'json';

/** Chooses the form for LOG_FORMAT: `auto` is text on the embedded stores, JSON on shared ones. */
export const selectLogForm = (settings: {
  readonly logFormat: 'auto' | LogForm;
  readonly redisUrl: readonly string[];
}): LogForm => {
  if (settings.logFormat !== 'auto') return settings.logFormat;
  return settings.redisUrl.length > 0 ? 'json' : 'text';
};

/** Whether standard output is the one that systemd has connected to its journal. */
const isJournal = (): boolean => {
  if (journalStream === '') return false;
  const { dev, ino } = fstatSync(1);
  return journalStream === `${dev}:${ino}`;
};

/** Creates the logger. `write` receives whole lines; by default they go to standard output. */
export const createLogger = (
  { level, form }: { level: string; form: LogForm },
  write: (line: string) => void = (line) => void process.stdout.write(line),
): Logger => {
  const options: LoggerOptions = {
    name: 'rollcall',
    level,
    timestamp: isJournal() ? false : stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  return pino(options, { write: form === 'json' ? write : (line) => write(formatTextLine(line)) });
};

/** The same in every line, or shown in the head of the line. */
const leftOut: ReadonlySet<string> = new Set(['name', 'pid', 'hostname', 'time', 'level', 'msg']);

/** Control characters, separators that end a line for some programs, and what turns the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
/** Shows each such character as `\u001b`. Also used for names that a command prints. */
export const escapeUnsafe = (text: string): string =>
  text.replace(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

const formatTextLine = (json: string): string => {
  const record = JSON.parse(json) as Record<string, unknown>;
  const fields = Object.entries(record)
    .filter(([name]) => !leftOut.has(name))
    .map(([name, value]) => ` ${name}=${escapeUnsafe(JSON.stringify(value))}`);
  const level = String(record.level).padEnd(5);
  const time = record.time === undefined ? '' : `${record.time} `;
  return `${time}${level} ${escapeUnsafe(String(record.msg ?? ''))}${fields.join('')}\n`;
};
