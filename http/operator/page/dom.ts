/**
 * Makes elements. Text is only ever text: strings become text nodes, so no name or message of a user can be
 * markup. Links stay inside the page, but for `makeWebLink`.
 */

export type Child = Node | string | number | null;
type Attributes = Readonly<Record<string, string | boolean | ((event: Event) => void)>>;

/**
 * Makes an element. A function is the listener of the event that its name says after `on`; `true` sets an
 * attribute without a value, `false` sets none.
 */
export const make = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (name === 'href' && !String(value).startsWith('#')) throw new Error('links stay inside the page');
    else if (value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  fill(element, ...children);
  return element;
};

/**
 * A link to an address that a user gave, opened beside the page, which it cannot reach and does not learn of.
 * What is not an https address stays text.
 */
export const makeWebLink = (address: string): HTMLElement => {
  if (!/^https:/i.test(address) || !URL.canParse(address)) return make('span', {}, address);
  const link = make('a', { rel: 'noopener noreferrer nofollow', target: '_blank', dir: 'ltr' }, address);
  link.href = address;
  return link;
};

/** A link to the screen of an entity. */
export const makeEntityLink = (kind: string, id: unknown, text = `${kind} ${id}`): HTMLElement =>
  make('a', { href: `#${kind}/${encodeURIComponent(String(id))}` }, text);

/** Replaces what the element contains. */
export const fill = (element: Element, ...children: readonly Child[]): void =>
  element.replaceChildren(...children.flatMap((child) => (child === null ? [] : [toNode(child)])));

const toNode = (child: Exclude<Child, null>): Node | string =>
  typeof child === 'number' ? String(child) : child;

/** A list of names, each with its value. */
export const makeFacts = (facts: readonly (readonly [name: Child, ...value: readonly Child[]])[]) =>
  make(
    'dl',
    { class: 'facts' },
    ...facts.flatMap(([name, ...value]) => [
      make('dt', { dir: 'auto' }, name),
      make('dd', { dir: 'auto' }, ...value),
    ]),
  );

/** Asks with a dialog; resolves to whether the operator agrees. */
export const confirm = (title: string, text: string, yes: string): Promise<boolean> =>
  new Promise((resolve) => {
    const dialog = make(
      'dialog',
      { 'aria-label': title, onclose: () => [dialog.remove(), resolve(dialog.returnValue === 'yes')] },
      make('h2', {}, title),
      make('p', {}, text),
      make(
        'div',
        { class: 'actions' },
        make('button', { class: 'main', onclick: () => dialog.close('yes') }, yes),
        // Enter and the space bar press what has the focus: not what changes something.
        make('button', { autofocus: true, onclick: () => dialog.close('') }, 'Cancel'),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });

/** Shows pairs in a dialog until it is closed. */
export const showPairs = (title: string, pairs: readonly (readonly [string, string])[]): void => {
  const dialog = make(
    'dialog',
    { 'aria-label': title, onclose: () => dialog.remove() },
    make('h2', {}, title),
    makeFacts(pairs.map(([name, text]) => [make('kbd', {}, name), text])),
    make('div', { class: 'actions' }, make('button', { onclick: () => dialog.close() }, 'Close')),
  );
  document.body.append(dialog);
  dialog.showModal();
};

/** What is wider than the screen scrolls on its own, by keys, too. */
export const makeScroller = (label: string, child: Child): HTMLElement =>
  make('div', { class: 'scroll', role: 'group', 'aria-label': label, tabindex: '0' }, child);

/** Copies the text; where the browser forbids that, it says so. */
export const makeCopyButton = (text: string): HTMLButtonElement => {
  const button = make('button', { type: 'button' }, 'Copy');
  button.addEventListener('click', async () => {
    const isCopied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    fill(button, isCopied ? 'Copied' : 'Copy it by hand');
  });
  return button;
};

const messages = make('div', { class: 'messages', role: 'status', 'aria-live': 'polite' });
const messageMs = 8_000;

/** Shows a message at the edge of the window for some seconds. */
export const notify = (text: string, kind: 'done' | 'wrong'): void => {
  if (!messages.isConnected) document.body.append(messages);
  const message = make('p', { class: kind }, text);
  messages.append(message);
  setTimeout(() => message.remove(), messageMs);
};

/** Lets the browser save text as a file. */
export const exportFile = (name: string, parts: readonly string[]): void => {
  const address = URL.createObjectURL(new Blob([...parts], { type: 'application/jsonl' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
};

/** Whether a key is meant for the page: not typed into a field, not a shortcut of the browser. */
export const isCommandKey = ({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  !(ctrlKey || metaKey || altKey || document.querySelector('dialog[open]') !== null) &&
  !(target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
