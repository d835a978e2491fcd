/**
 * Builds the pages of docs/reference from the tables of the source: operations, errors, settings, metrics,
 * notes, events and commands. `npm run document` writes them. Pure, but for the text of config.example.
 */
import { readFileSync } from 'node:fs';
import { errorStatuses } from '../../../engine/errors.ts';
import { noteSeverities } from '../../../engine/tools/notes.ts';
import { createMetrics } from '../../../http/telemetry/metrics.ts';
import { groups, listOperations } from '../operator/arguments.ts';
import { formatOperationHelp } from '../operator/run.ts';
import { commandHelps, formatCommandHelp, formatUsage } from '../usage.ts';
import { errorTexts } from './error-texts.ts';
import { formatEvents, formatOperations, type ReadDocument } from './from-document.ts';
import { noteTexts } from './note-texts.ts';

const generated = 'Written by `npm run document` from the source.';
const toPage = (title: string, opening: string, ...parts: readonly string[]): string =>
  [`# ${title}`, `${opening} ${generated}`, ...parts, ''].join('\n\n');
const toTable = (head: string, rows: readonly (readonly (string | number)[])[]): string =>
  [head, head.replace(/[^|]+/g, '---'), ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');

const formatErrors = (): string => {
  const rows = Object.entries(errorStatuses).map(([code, status]) => [
    `\`${code}\``,
    status,
    errorTexts[code as keyof typeof errorTexts],
  ]);
  const opening = 'Every code that `context.code` of an error may have. A code never changes its meaning.';
  return toPage('Errors', opening, toTable('| code | status | when |', rows));
};

const formatNotes = (): string => {
  const rows = Object.entries(noteTexts).map(([name, [meaning, remedy]]) => [
    `\`${name}\``,
    noteSeverities[name as keyof typeof noteSeverities],
    meaning,
    remedy,
  ]);
  const opening =
    'Every note of `/readyz`. `page`: work is refused or may be lost. `ticket`: something does not work. ' +
    '`none`: it may be so by choice; no alert looks at it.';
  return toPage('Notes', opening, toTable('| note | severity | what it means | what to do |', rows));
};

const formatMetrics = async (): Promise<string> => {
  const metrics = createMetrics([], { version: '', commit: '' });
  const health = { ready: true, hot: true, sql: true, weakServers: 0, mended: {}, notes: [] };
  metrics.watchHealth(() => health);
  metrics.watchBoards({ find: () => null, nowMs: () => 0 });
  const text = await metrics.render();
  const rows = [...text.matchAll(/^# HELP (rollcall_\S+) (.*)\n# TYPE \S+ (\w+)/gm)].map(
    ([, name, help = '', type = '']) => [`\`${name}\``, type, help.replaceAll('|', '\\|')],
  );
  const opening =
    'Every metric of `/metrics`, beside the default ones of prom-client (`process_…`, `nodejs_…`) under ' +
    'their usual names, without three gauges whose names end in `_total`. `nodejs_eventloop_lag_…_seconds` ' +
    'is how late a timer was, once a second, since the last scrape.';
  return toPage('Metrics', opening, toTable('| metric | type | meaning |', rows.toSorted()));
};

/** A paragraph of config.example: what its comments say, and its settings with their defaults. */
const formatSetting = (comments: readonly string[], settings: readonly string[]): string => {
  const names = settings.map((line) => `\`${line.slice(1)}\``).join(', ');
  const text = comments.map((line) => line.replace(/^# ?/, '').trim()).join(' ');
  return `- ${names}: ${text.replace(/docs\/((?:[a-z-]+\/)?[a-z-]+)\.md/g, '[$1](../$1.md)')}`;
};

/** Each run of comments before settings explains these settings; `###` begins a section. */
const listSettings = (text: string): readonly string[] => {
  const lines: string[] = [];
  let [comments, settings]: [string[], string[]] = [[], []];
  for (const line of [...text.split('\n'), '']) {
    const isSetting = /^#[A-Z_]+=/.test(line);
    if (isSetting && comments.length > 0) settings.push(line);
    else {
      if (settings.length > 0) lines.push(formatSetting(comments, settings));
      if (settings.length > 0 || !line.startsWith('# ')) [comments, settings] = [[], []];
      if (line.startsWith('# ')) comments.push(line);
      if (line.startsWith('### ')) lines.push(`\n## ${line.slice(4)}\n`);
    }
  }
  return lines;
};

const formatSettings = (): string => {
  const text = readFileSync(new URL('../../../config.example', import.meta.url), 'utf8');
  const opening =
    'Every setting with its default, as config.example has it. Settings are environment variables; an ' +
    'empty one counts as not set. The last word of a name is its unit. A wrong setting stops the start: ' +
    'all mistakes are reported at once.';
  return toPage('Settings', opening, listSettings(text).join('\n').trim());
};

interface Fault {
  readonly fault: string;
  readonly promise: string;
  /** Paths below test/, without `.test.ts` or `.fault.ts`. */
  readonly tests: readonly string[];
}

const formatTestCommand = (test: string): string =>
  /^(faults\/cases|bench)\//.test(test)
    ? `\`npm run test:faults -- ${test.replace('faults/cases/', '')}\``
    : `\`npm test -- ${test}\``;

const formatFaults = (): string => {
  const text = readFileSync(new URL('../../../test/faults/faults.jsonl', import.meta.url), 'utf8');
  const faults = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Fault);
  const rows = faults.map(({ fault, promise, tests }) => [
    fault,
    promise,
    tests.map(formatTestCommand).join(', '),
  ]);
  const opening = 'Every fault that was tried, from test/faults/faults.jsonl.';
  return toPage('Faults', opening, toTable('| fault | promise | command |', rows));
};

const formatCommands = (): string => {
  const toBlock = (text: string): string => `\`\`\`text\n${text.trim()}\n\`\`\``;
  const helps = commandHelps.filter(({ name }) => name !== 'help').map(formatCommandHelp);
  const operations = groups.flatMap((group) =>
    listOperations(group).map(({ command }) => formatOperationHelp(command.split(' '))),
  );
  const opening = 'What `rollcall ops help` and `rollcall ops help COMMAND` print.';
  return toPage('Commands', opening, ...[formatUsage(), ...helps, ...operations].map(toBlock));
};

/** The pages by their file's name below docs/reference. */
export const buildReference = async (document: ReadDocument): Promise<ReadonlyMap<string, string>> =>
  new Map([
    [
      'operations.md',
      toPage('Operations', 'Every operation, as `/openapi.json` has it in full.', formatOperations(document)),
    ],
    ['errors.md', formatErrors()],
    [
      'events.md',
      toPage(
        'Events',
        'Every message of the feed and of webhooks; `/openapi.json` has their schemas.',
        formatEvents(document),
      ),
    ],
    ['settings.md', formatSettings()],
    ['metrics.md', await formatMetrics()],
    ['notes.md', formatNotes()],
    ['commands.md', formatCommands()],
    ['faults.md', formatFaults()],
  ]);
