/**
 * The form above a list that the address filters: `#audit/operator%3Drobin`.
 */
import { type Child, make } from './dom.ts';

export interface Filter {
  /** In the query. */
  readonly name: string;
  readonly label: string;
  /** All possible values; any text if absent. */
  readonly choices?: readonly string[];
  readonly placeholder?: string;
}

export interface FilterForm {
  readonly screen: string;
  readonly filters: readonly Filter[];
  /** What the address filters by. */
  readonly query: URLSearchParams;
}

/** The address of a screen with a filter. */
export const toFilterAddress = (screen: string, values: Readonly<Record<string, string>>): string => {
  const given = Object.entries(values).filter(([, value]) => value !== '');
  return `#${screen}/${encodeURIComponent(new URLSearchParams(given).toString())}`;
};

const makeInput = ({ name, choices, placeholder = '' }: Filter, value: string) => {
  const attributes = { name, id: `filter-${name}` };
  if (choices === undefined) return make('input', { ...attributes, value, placeholder, autocomplete: 'off' });
  const options = ['', ...choices].map((choice) =>
    make('option', { value: choice, selected: choice === value }, choice || '–'),
  );
  return make('select', attributes, ...options);
};

/** Changes the address to what was typed; `more` stands beside the button. */
export const makeFilterForm = (
  { screen, filters, query }: FilterForm,
  ...more: readonly Child[]
): HTMLElement => {
  const inputs = filters.map((filter) => makeInput(filter, query.get(filter.name) ?? ''));
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    location.hash = toFilterAddress(
      screen,
      Object.fromEntries(inputs.map(({ name, value }) => [name, value.trim()])),
    );
  };
  const rows = filters.map(({ name, label }, at) =>
    make('div', {}, make('label', { for: `filter-${name}` }, label), inputs[at] ?? null),
  );
  const actions = make('div', { class: 'actions' }, make('button', { class: 'main' }, 'Filter'), ...more);
  return make('form', { class: 'columns', role: 'search', onsubmit }, ...rows, actions);
};
