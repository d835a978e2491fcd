/**
 * The screen *Audit*: what operators changed or tried to change, filtered as the address says, and saved as a
 * file of JSON lines.
 */
import { describeAnswer, type Json, type PageSession } from './api.ts';
import { exportFile, fill, make, notify } from './dom.ts';
import { formatCount } from './format.ts';
import type { Screen } from './screens.ts';
import { makeList } from './tables.ts';

const filters = [
  ['operator', 'Operator'],
  ['operation', 'Command, or its first word'],
  ['target', 'Id of the target'],
] as const;

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
  const inputs = filters.map(([name]) =>
    make('input', { name, id: `filter-${name}`, value: query.get(name) ?? '', autocomplete: 'off' }),
  );
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    const next = inputs.map(({ name, value }) => [name, value.trim()]).filter(([, value]) => value !== '');
    location.hash = `#audit/${encodeURIComponent(new URLSearchParams(next).toString())}`;
  };
  const list = makeList(session, {
    caption: 'What operators changed or tried to change, newest first',
    path: `/audit?${query}`,
    none: query.size === 0 ? 'Nothing yet.' : 'Nothing like this.',
    toRow: ({ details, ...row }) => ({ ...row, details }),
  });
  const rows = filters.map(([name, label], at) =>
    make('div', {}, make('label', { for: `filter-${name}` }, label), inputs[at] ?? null),
  );
  const actions = make(
    'div',
    { class: 'actions' },
    make('button', { class: 'main' }, 'Filter'),
    makeExport(session, query),
  );
  const form = make('form', { class: 'columns', role: 'search', onsubmit }, ...rows, actions);
  fill(place, make('h1', {}, 'Audit'), form, list.element);
  void list.load();
  return () => {};
};
