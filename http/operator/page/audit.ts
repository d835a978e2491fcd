/**
 * The screen *Audit*: what operators changed or tried to change, filtered as the address says, and saved as a
 * file of JSON lines.
 */
import { describeAnswer, type Json, type PageSession } from './api.ts';
import { exportFile, fill, make, notify } from './dom.ts';
import { type Filter, makeFilterForm } from './filters.ts';
import { formatCount } from './format.ts';
import type { Screen } from './screens.ts';
import { makeList } from './tables.ts';

const filters: readonly Filter[] = [
  { name: 'operator', label: 'Operator' },
  { name: 'operation', label: 'Command, or its first word' },
  { name: 'target', label: 'Id of the target' },
];

const rowsPerRequest = 1_000;

/** Resolves to lines by id, because new entries move others to the next page; to the reason if it fails. */
const readAll = async (
  session: PageSession,
  query: URLSearchParams,
  onProgress: (entries: number) => void,
): Promise<ReadonlyMap<unknown, string> | string> => {
  const lines = new Map<unknown, string>();
  for (let page = 1; ; page++) {
    const answer = await session.call('GET', `/audit?${query}&rows=${rowsPerRequest}&page=${page}`);
    if (answer.status !== 200) return describeAnswer(answer);
    const { entries, next_page } = answer.json as { entries: readonly Json[]; next_page: number | null };
    for (const entry of entries) lines.set(entry.id, `${JSON.stringify(entry)}\n`);
    onProgress(lines.size);
    if (next_page === null) return lines;
  }
};

const makeExport = (session: PageSession, query: URLSearchParams): HTMLElement => {
  const onclick = async (): Promise<void> => {
    button.disabled = true;
    const lines = await readAll(session, query, (entries) => fill(button, `${formatCount(entries)} read …`));
    button.disabled = false;
    fill(button, 'Export');
    if (typeof lines === 'string') return notify(lines, 'wrong');
    exportFile('rollcall-audit.jsonl', [...lines.values()]);
    notify(`${formatCount(lines.size)} entries are in rollcall-audit.jsonl.`, 'done');
  };
  const button = make('button', { type: 'button', onclick }, 'Export');
  return button;
};

export const showAudit: Screen = (place, session, argument) => {
  const query = new URLSearchParams(argument);
  const list = makeList(session, {
    caption: 'What operators changed or tried to change, newest first',
    path: `/audit?${query}`,
    none: query.size === 0 ? 'Nothing yet.' : 'Nothing like this.',
    toRow: ({ details, ...row }) => ({ ...row, details }),
  });
  const form = makeFilterForm({ screen: 'audit', filters, query }, makeExport(session, query));
  fill(place, make('h1', {}, 'Audit'), form, list.element);
  void list.load();
};
