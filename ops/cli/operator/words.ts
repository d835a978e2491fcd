/**
 * The words of one operator's command turned into a request, by the shapes of its row: path parameters are
 * words in their order, fields of the query and the body are options (`--start-at` for `start_at`).
 *
 * Pure. The server checks values; here only what cannot be sent at all is refused.
 */
import { parseArgs } from 'node:util';
import type { TSchema } from 'typebox';
import { parameterNames } from '../../../http/match.ts';
import type { Operation } from '../../../http/routes/admin/operation.ts';
import { operations } from '../../../http/routes/admin/table.ts';
import { plainText } from '../../../http/schema/patterns.ts';
import { CommandError } from '../command.ts';
import { nearest } from '../nearest.ts';

export interface Asked {
  readonly operation: Operation;
  /** With its query. */
  readonly path: string;
  /** `undefined` for no body. */
  readonly body: object | undefined;
  /** A JSON file whose fields come before those of the options; `''` for none. */
  readonly bodyFile: string;
  /** The answer as it came, for programs. */
  readonly json: boolean;
}

export interface Field {
  readonly name: string;
  readonly option: string;
  readonly schema: TSchema & {
    readonly type?: string;
    readonly enum?: readonly string[];
    readonly description?: string;
  };
  readonly required: boolean;
  readonly place: 'query' | 'body';
}

/** First words of commands: `bots`, `users` … */
export const groups: readonly string[] = [
  ...new Set(operations.map(({ command }) => command.split(' ')[0] ?? '')),
];

export const operationsOf = (group: string): readonly Operation[] =>
  operations.filter(({ command }) => command.startsWith(`${group} `));

const fieldsIn = (schema: TSchema | undefined, place: Field['place']): Field[] => {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Field['schema']>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, field]) => ({
    name,
    option: name.replaceAll('_', '-'),
    schema: field,
    required: required.includes(name),
    place,
  }));
};

/** Everything that can be said with an option. */
export const fieldsOf = ({ row }: Operation): readonly Field[] => [
  ...fieldsIn(row.query, 'query'),
  ...fieldsIn(row.body, 'body'),
];

/** A list of objects has no words: it comes from a file. */
const isSayable = ({ schema }: Field): boolean =>
  schema.type !== 'object' &&
  (schema.type !== 'array' || (schema as { items?: TSchema & { type?: string } }).items?.type !== 'object');

export const sayable = (operation: Operation): readonly Field[] => fieldsOf(operation).filter(isSayable);

/** `target_type` as it stands in a usage: `TARGET-TYPE`. */
export const parameterWord = (name: string): string => name.replaceAll('_', '-').toUpperCase();

const wordsAndCommand = ({ command, row }: Operation): string =>
  [command, ...parameterNames(row.path).map(parameterWord)].join(' ');

/** `bots approve ID`, with the options that cannot be left out. */
export const shortUsageOf = (operation: Operation): string => {
  const needed = sayable(operation).filter((field) => field.required);
  const options = needed.map((field) => `--${field.option} ${valueWord(field)}`);
  const file = fieldsOf(operation).some((field) => field.required && !isSayable(field));
  return [wordsAndCommand(operation), ...options, ...(file ? ['--file FILE'] : [])].join(' ');
};

/** `bots approve ID [options]`. */
export const usageOf = (operation: Operation): string => `${shortUsageOf(operation)} [options]`;

const isNumber = ({ type }: Field['schema']): boolean => type === 'integer' || type === 'number';

export const valueWord = ({ name, schema }: Field): string => {
  const item = (schema as { items?: Field['schema'] }).items ?? schema;
  if (item.enum !== undefined) return item.enum.join('|');
  // A page is a string to its schema, because its check has words of its own.
  return isNumber(item) || name === 'page' ? 'N' : 'TEXT';
};

const lengthWords = ({ minLength, maxLength }: { minLength?: number; maxLength?: number }): string => {
  if (maxLength === undefined) return '';
  return minLength ? `${minLength} to ${maxLength} characters.` : `Up to ${maxLength} characters.`;
};

/** What one line of help says about an option. */
export const optionWords = (field: Field): string => {
  const { schema, required } = field;
  const item = (schema as { items?: Field['schema'] }).items ?? schema;
  const told = schema.description ?? item.description ?? '';
  const example = (item as { examples?: readonly unknown[] }).examples?.[0];
  const words = [
    required ? 'Needed.' : '',
    told || lengthWords(item as { maxLength?: number }),
    told === '' && typeof example === 'string' && example.length <= 40 ? `For example "${example}".` : '',
    schema.type === 'array' ? 'Repeat it for more than one.' : '',
    schema.type === 'boolean' && told === '' ? 'Yes; no when absent.' : '',
  ];
  return words.filter(Boolean).join(' ');
};

/** Parameters of the path with what is known of them: `ID` and `Id of a user.` */
export const parametersOf = ({ row }: Operation): readonly { said: string; told: string }[] => {
  const { properties = {} } = row.params as { properties?: Record<string, Field['schema']> };
  return parameterNames(row.path).map((name) => ({
    said: parameterWord(name),
    told: properties[name]?.description ?? '',
  }));
};

/** Fields that only a file can give. */
export const unsayable = (operation: Operation): readonly Field[] =>
  fieldsOf(operation).filter((field) => !isSayable(field));

const typedOf = (field: Field, given: string | boolean | readonly (string | boolean)[]): unknown => {
  if (!isNumber(field.schema)) return given;
  const number = Number(given);
  if (given !== '' && Number.isFinite(number)) return number;
  throw new CommandError(`--${field.option} must be a number, not "${String(given)}".`, 2);
};

const optionsOf = (operation: Operation) => {
  const named = sayable(operation).map((field) => [
    field.option,
    field.schema.type === 'boolean'
      ? ({ type: 'boolean' } as const)
      : ({ type: 'string', multiple: field.schema.type === 'array' } as const),
  ]);
  return { ...Object.fromEntries(named), json: { type: 'boolean' }, file: { type: 'string' } } as const;
};

const pathOf = ({ row }: Operation, words: readonly string[]): string =>
  parameterNames(row.path).reduce(
    (path, name, index) => path.replace(`{${name}}`, encodeURIComponent(words[index] ?? '')),
    row.path,
  );

/** What a path can carry: no slash, no control character, and not what addresses mean by dots. */
const isPathWord = (word: string): boolean =>
  !['', '.', '..'].includes(word) && !word.includes('/') && new RegExp(plainText).test(word);

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

const gather = (operation: Operation, place: Field['place'], values: Values): Record<string, unknown> => {
  const fields = sayable(operation).filter(
    (field) => field.place === place && values[field.option] !== undefined,
  );
  return Object.fromEntries(
    fields.map((field) => [field.name, typedOf(field, values[field.option] as string)]),
  );
};

/** The operation that these words name; throws words for the operator. */
export const operationNamed = (words: readonly string[]): Operation => {
  const [group = '', verb = ''] = words;
  const found = operations.find(({ command }) => command === `${group} ${verb}`);
  if (found !== undefined) return found;
  const verbs = operationsOf(group).map(({ command }) => command.split(' ')[1] ?? '');
  const meant = nearest(verb, verbs);
  const hint =
    meant === null
      ? `After "${group}" comes one of ${verbs.join(', ')}.`
      : `Did you mean "${group} ${meant}"?`;
  throw new CommandError(`There is no command "${group} ${verb}". ${hint}`, 2);
};

/** Throws words for the operator, exit code 2, when they cannot be turned into a request. */
export const askedBy = (argv: readonly string[]): Asked => {
  const operation = operationNamed(argv);
  const usage =
    `Usage: npm run ops -- ${usageOf(operation)}\n` + `More: npm run ops -- help ${operation.command}`;
  const parsed = parse(argv.slice(2), operation, usage);
  const names = parameterNames(operation.row.path);
  const missing = names[parsed.positionals.length];
  if (missing !== undefined) throw new CommandError(`${parameterWord(missing)} is missing.\n${usage}`, 2);
  const further = parsed.positionals[names.length];
  if (further !== undefined) throw new CommandError(`"${further}" is one word too many.\n${usage}`, 2);
  const odd = parsed.positionals.find((word) => !isPathWord(word));
  if (odd !== undefined) throw new CommandError(`${JSON.stringify(odd)} cannot be an id or a name.`, 2);
  const query = new URLSearchParams(gather(operation, 'query', parsed.values) as Record<string, string>);
  const path = pathOf(operation, parsed.positionals);
  return {
    operation,
    path: query.size === 0 ? path : `${path}?${query}`,
    body: operation.row.body === undefined ? undefined : gather(operation, 'body', parsed.values),
    bodyFile: String(parsed.values.file ?? ''),
    json: parsed.values.json === true,
  };
};

const parse = (
  args: string[] | readonly string[],
  operation: Operation,
  usage: string,
): { values: Values; positionals: string[] } => {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: optionsOf(operation) });
  } catch (error) {
    throw new CommandError(`${(error as Error).message.split('. ')[0]}.\n${usage}`, 2);
  }
};
