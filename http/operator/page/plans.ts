/**
 * Plans of void votes: the list of them on the screen *Votes*, and the screen of one, from its preview to its
 * undo. The node works on a plan in the background; the screen looks until it is done.
 */
import { describeAnswer, type Json, type PageSession } from './api.ts';
import { confirm, fill, make, notify } from './dom.ts';
import { formatCount } from './format.ts';
import { makeRowButton } from './operations.ts';
import type { Screen } from './screens.ts';
import { makeList, makeObject } from './tables.ts';

const lookEveryMs = 500;
const working: ReadonlySet<unknown> = new Set(['planning', 'voiding', 'undoing']);

export const makePlanList = (session: PageSession) =>
  makeList(session, {
    caption: 'Plans, newest first',
    path: '/votes/void',
    none: 'No plans yet: fill in the form of votes void-many below.',
    linkRow: ({ plan }) => `#plan/${plan}`,
  });

const makeProgress = ({ summary, done, held }: Json): HTMLElement =>
  make(
    'p',
    {},
    make('progress', { max: String(held), value: String(done), 'aria-label': String(summary) }),
    ` ${formatCount(Number(done))} of ${formatCount(Number(held))}`,
  );

/** Voids exactly the votes of the plan. */
const makeVoidButton = (session: PageSession, { plan, summary, votes }: Json, onDone: () => void) => {
  const onclick = async (): Promise<void> => {
    if (!(await confirm('Void these votes?', String(summary), 'Void'))) return;
    const answer = await session.call('POST', '/votes/void', { plan });
    if (answer.status !== 200) notify(describeAnswer(answer), 'wrong');
    onDone();
  };
  const label = `Void ${formatCount(Number(votes))}`;
  return make('button', { class: 'main', type: 'button', disabled: session.readOnly, onclick }, label);
};

const makeActions = (session: PageSession, plan: Json, onDone: () => void): HTMLElement => {
  const { state } = plan;
  const isUndoable = ['voiding', 'voided', 'undone'].includes(String(state));
  const undo = { command: 'votes undo', label: 'Undo', given: { plan: String(plan.plan) }, onDone };
  return make(
    'div',
    { class: 'actions' },
    state === 'planned' ? makeVoidButton(session, plan, onDone) : null,
    isUndoable ? makeRowButton(session, undo) : null,
  );
};

export const showPlan: Screen = (place, session, id) => {
  const path = `/votes/void/${encodeURIComponent(id)}`;
  const part = make('section', { 'aria-label': 'Plan', 'aria-live': 'polite' });
  const left = makeList(session, {
    caption: 'Votes that the newest step left as they were',
    path: `${path}/left-out`,
    none: 'No vote was left as it was.',
  });
  let [ended, timer] = [false, 0];
  const load = async (): Promise<void> => {
    clearTimeout(timer);
    const answer = await session.call('GET', path);
    if (ended) return;
    const { summary, ...facts } = answer.json;
    if (answer.status !== 200) return fill(part, make('p', { class: 'none' }, describeAnswer(answer)));
    const isWorking = working.has(facts.state);
    fill(
      part,
      make('p', {}, String(summary)),
      isWorking ? makeProgress(answer.json) : null,
      makeActions(session, answer.json, () => void load()),
      makeObject(facts),
    );
    if (isWorking) timer = setTimeout(load, lookEveryMs);
    else void left.load();
  };
  fill(place, make('h1', {}, 'Plan ', make('small', {}, id)), part, left.element);
  void load();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
};
