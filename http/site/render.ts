/**
 * HTML as a template: what is inserted is text, unless it was rendered by this file. So a name that contains
 * markup stays a name. Pure.
 */

/** Markup that is safe to send. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | null | readonly HtmlValue[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: HTML has no way to write these.
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
export const removeControls = (text: string): string => text.replace(controls, '');

/** Text for an element or an attribute in quotes. Control characters, so also slots, are removed. */
export const escapeHtml = (text: string): string =>
  removeControls(text).replace(/[&<>"']/g, (character) => entities[character] ?? '');

const toMarkup = (value: HtmlValue): string => {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(toMarkup).join('');
  return escapeHtml(String(value));
};

/** The tag of a template; `null` inserts nothing. */
export const render = (strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html =>
  new Html(strings.map((text, index) => text + toMarkup(values[index] ?? null)).join(''));

const slotMark = '\u0001';

/** The place of a value that is filled in later, once for each reply. */
export const renderSlot = (name: string): Html => new Html(slotMark + name + slotMark);

/** A page with slots: text and names of slots by turns. */
export type PageTemplate = readonly string[];

export const toTemplate = ({ text }: Html): PageTemplate => text.split(slotMark);

/** Fills in the slots. The values must be safe: they are numbers, times and fixed words. */
export const fillTemplate = (template: PageTemplate, values: Readonly<Record<string, string>>): string => {
  let page = template[0] ?? '';
  for (let at = 1; at < template.length; at += 2)
    page += (values[template[at] as string] ?? '') + (template[at + 1] as string);
  return page;
};
