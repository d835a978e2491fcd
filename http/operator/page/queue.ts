/**
 * The screen *Queue*: bots that wait for a review, oldest first, one beside the list, decided by keys.
 *
 * A denial needs a reason, which goes to the owner. A decision is sent after `undoSeconds`, until then it can
 * be taken back. Right before that the bot is read again: when another operator has decided meanwhile,
 * nothing is sent.
 */
import { describeAnswer, type Json, type PageSession } from './api.ts';
import { fill, isCommandKey, make, makeFacts, makeWebLink, notify } from './dom.ts';
import { formatDuration, formatTotal } from './format.ts';
import { makeObject } from './tables.ts';

const undoSeconds = 10;
const refreshMs = 5_000;
const userKey = 'rollcall-reviewer-id';

interface PendingBot {
  readonly bot_id: string;
  readonly name: string;
  readonly claimed_by: string;
  readonly created_at: string;
}

interface Decision {
  readonly bot: PendingBot;
  readonly verb: 'approve' | 'deny';
  readonly note: string;
  secondsLeft: number;
}

/** What the owner wrote, whole: the text, where the bot leads, and what they tell the reviewers. */
const makeReviewed = (bot: Json): HTMLElement => {
  const alike = bot.look_alikes as readonly Record<'kind' | 'id' | 'name', string>[];
  const named = alike.map(({ kind, id, name }) => `${name} (${kind} ${id})`).join(', ');
  const pairs: (readonly [string, ...(Node | string)[]])[] = [
    ...(named === '' ? [] : [['Looks like', named] as const]),
    ['Owner', `${bot.owner_name} (${bot.owner})`],
    ['Note to the reviewers', String(bot.staff_note) || '–'],
    ['Short', String(bot.short)],
    ['Invite', makeWebLink(String(bot.invite))],
    ...(bot.extra_links as readonly Record<'name' | 'value', string>[]).map(
      ({ name, value }) => [name, makeWebLink(value)] as const,
    ),
    ['Prefix', make('code', {}, String(bot.prefix))],
    ['Library', String(bot.library)],
  ];
  return make(
    'div',
    {},
    makeFacts(pairs),
    make('h3', {}, 'Long text'),
    make('p', { class: 'long', dir: 'auto' }, String(bot.long)),
  );
};

/** What `makeReviewed` shows already, and the fields of the review, which are empty. */
const shownFields: ReadonlySet<string> = new Set([
  ...['name', 'owner', 'owner_name', 'staff_note', 'short', 'long', 'invite', 'extra_links', 'prefix'],
  ...['library', 'approval_note', 'cert_reason', 'look_alikes'],
]);

const results = { approve: 'approved', deny: 'denied' } as const;
const readNowMs = (): number => performance.timeOrigin + performance.now();
const describeDecision = ({ verb, secondsLeft }: Decision): string => `${results[verb]} in ${secondsLeft} s`;

/** Sends the decision unless the bot no longer waits for one. */
const sendDecision = async (session: PageSession, { bot, verb, note }: Decision): Promise<void> => {
  const path = `/bots/${encodeURIComponent(bot.bot_id)}`;
  const current = await session.call('GET', path);
  const { type } = current.json;
  if (current.status === 200 && type !== 'pending') {
    notify(`${bot.name} is ${String(type)} already: another operator was faster. Nothing was sent.`, 'wrong');
    return;
  }
  const answer = current.status === 200 ? await session.call('POST', `${path}/${verb}`, { note }) : current;
  notify(`${bot.name}: ${describeAnswer(answer)}`, answer.status === 200 ? 'done' : 'wrong');
};

class Queue {
  readonly #session: PageSession;
  readonly #list = make('ol', { class: 'queue', 'aria-label': 'Bots that wait for a review' });
  readonly #count = make('span', { class: 'quiet' });
  readonly #detail = make('section', { class: 'detail', 'aria-label': 'The chosen bot' });
  readonly #note = make('textarea', { rows: '2', id: 'note', maxlength: '2000' });
  #bots: readonly PendingBot[] = [];
  #chosen = '';
  readonly #decisions = new Map<string, Decision>();

  constructor(session: PageSession) {
    this.#session = session;
  }

  get element(): HTMLElement {
    return make(
      'div',
      { class: 'split' },
      make('div', {}, make('h1', {}, 'Queue ', this.#count), this.#list),
      this.#detail,
    );
  }

  get hasDecisions(): boolean {
    return this.#decisions.size > 0;
  }

  async load(): Promise<void> {
    const { status, json } = await this.#session.call('GET', '/bots?type=pending');
    if (status !== 200) return notify(describeAnswer({ status, json }), 'wrong');
    this.#bots = json.bots as readonly PendingBot[];
    fill(this.#count, `${formatTotal(json)} waiting`);
    this.#drawList();
    const isThere = this.#bots.some(({ bot_id }) => bot_id === this.#chosen);
    if (!isThere) await this.choose(this.#bots[0]?.bot_id ?? '');
  }

  #drawList(): void {
    const items = this.#bots.map((bot) => {
      const decision = this.#decisions.get(bot.bot_id);
      const waited = formatDuration((readNowMs() - Date.parse(bot.created_at)) / 1_000);
      const claim = bot.claimed_by === '' ? '' : ` · claimed by ${bot.claimed_by}`;
      const state = decision === undefined ? `waits ${waited}${claim}` : describeDecision(decision);
      const isChosen = bot.bot_id === this.#chosen;
      const choose = (): void => void this.choose(bot.bot_id);
      const button = make(
        'button',
        { 'aria-current': isChosen ? 'true' : 'false', onclick: choose },
        bot.name,
      );
      return make('li', { class: decision === undefined ? '' : 'decided' }, button, make('small', {}, state));
    });
    const hadFocus = this.#list.contains(document.activeElement);
    if (items.length === 0) fill(this.#list, make('li', { class: 'none' }, 'No bot waits for a review.'));
    else fill(this.#list, ...items);
    if (hadFocus)
      this.#list.querySelector<HTMLElement>('[aria-current=true]')?.focus({ preventScroll: true });
  }

  async choose(id: string): Promise<void> {
    this.#chosen = id;
    this.#note.value = '';
    this.#drawList();
    this.#list.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' });
    if (id === '') return fill(this.#detail);
    const { status, json } = await this.#session.call('GET', `/bots/${encodeURIComponent(id)}`);
    if (this.#chosen !== id) return;
    if (status !== 200) return fill(this.#detail, make('p', { class: 'none' }, String(json.message)));
    this.#drawDetail(json);
  }

  #drawDetail(bot: Json): void {
    const { readOnly } = this.#session;
    const button = (text: string, attributes: Record<string, string | boolean>, onclick: () => void) =>
      make('button', { ...attributes, disabled: readOnly, onclick }, text);
    const others = Object.fromEntries(Object.entries(bot).filter(([field]) => !shownFields.has(field)));
    fill(
      this.#detail,
      make('h2', { dir: 'auto' }, String(bot.name)),
      make('label', { for: 'note' }, 'Note to the owner, also shown on the page of the bot'),
      this.#note,
      make(
        'div',
        { class: 'actions' },
        button('Approve (a)', { class: 'main' }, () => this.decide('approve')),
        button('Deny (d)', {}, () => this.decide('deny')),
        button('Claim (c)', {}, () => void this.claim()),
        button('Undo (u)', {}, () => this.undo()),
      ),
      makeReviewed(bot),
      makeObject(others),
    );
  }

  move(step: 1 | -1): void {
    const at = this.#bots.findIndex(({ bot_id }) => bot_id === this.#chosen);
    const next = this.#bots[at + step];
    if (next !== undefined) void this.choose(next.bot_id);
  }

  decide(verb: Decision['verb']): void {
    const bot = this.#bots.find(({ bot_id }) => bot_id === this.#chosen);
    if (bot === undefined || this.#session.readOnly || this.#decisions.has(bot.bot_id)) return;
    if (verb === 'deny' && this.#note.value.trim() === '') {
      notify('A denial needs a reason: write it here, then leave the field and press d.', 'wrong');
      this.#note.focus();
      return;
    }
    this.#decisions.set(bot.bot_id, { bot, verb, note: this.#note.value, secondsLeft: undoSeconds });
    notify(`${bot.name} is ${results[verb]} in ${undoSeconds} s; u takes it back.`, 'done');
    this.move(1);
    this.#drawList();
  }

  /** Takes the newest decision back that was not sent yet. */
  undo(): void {
    const [id, decision] = [...this.#decisions].at(-1) ?? [];
    if (id === undefined || decision === undefined) return;
    this.#decisions.delete(id);
    void this.choose(id);
    this.#note.value = decision.note;
  }

  async claim(): Promise<void> {
    if (this.#chosen === '' || this.#session.readOnly) return;
    const user = prompt('Your user id in the directory', sessionStorage.getItem(userKey) ?? '') ?? '';
    if (user === '') return;
    sessionStorage.setItem(userKey, user);
    const path = `/bots/${encodeURIComponent(this.#chosen)}/claim`;
    const answer = await this.#session.call('PUT', path, { user_id: user });
    notify(describeAnswer(answer), answer.status === 200 ? 'done' : 'wrong');
    await this.load();
  }

  /** Counts `seconds` down, and sends what is due. */
  async pass(seconds: number): Promise<void> {
    const due: Promise<void>[] = [];
    for (const [id, decision] of this.#decisions) {
      decision.secondsLeft -= seconds;
      if (decision.secondsLeft > 0) continue;
      this.#decisions.delete(id);
      due.push(sendDecision(this.#session, decision));
    }
    if (this.#decisions.size > 0) this.#drawList();
    if (due.length === 0) return;
    await Promise.all(due);
    await this.load();
  }
}

/** Shows the screen; returns what ends it, which sends at once what still waits. Closing the tab warns. */
export const showQueue = (place: HTMLElement, session: PageSession): (() => void) => {
  const queue = new Queue(session);
  fill(place, queue.element);
  void queue.load();
  const keys: Readonly<Record<string, () => void>> = {
    j: () => queue.move(1),
    k: () => queue.move(-1),
    a: () => queue.decide('approve'),
    d: () => queue.decide('deny'),
    c: () => void queue.claim(),
    u: () => queue.undo(),
  };
  const onKey = (event: KeyboardEvent): void => {
    const run = isCommandKey(event) ? keys[event.key] : undefined;
    if (run === undefined) return;
    event.preventDefault(); // Else the field that it moves to gets the letter.
    run();
  };
  const warn = (event: BeforeUnloadEvent): void => {
    if (queue.hasDecisions) event.preventDefault();
  };
  document.addEventListener('keydown', onKey);
  addEventListener('beforeunload', warn);
  const ticks = setInterval(() => void queue.pass(1), 1_000);
  const refreshes = setInterval(() => document.hidden || void queue.load(), refreshMs);
  return () => {
    void queue.pass(undoSeconds);
    clearInterval(ticks);
    clearInterval(refreshes);
    document.removeEventListener('keydown', onKey);
    removeEventListener('beforeunload', warn);
  };
};
