/**
 * The words of one operator's command turned into a request, by the shapes of its row: path parameters are
 * words in their order, fields of the query and the body are options (`--start-at` for `start_at`).
 *
 * Pure. The server checks values; here only what cannot be sent at all is refused.
 */
import { parseArgs } from 'node:util';
import type { TSchema } from 'typebox';
import { listParameterNames } from '../../../http/request/match.ts';
import { plainText } from '../../../http/request/patterns.ts';
import type { AdminOperation } from '../../../http/routes/admin/operation.ts';
import { adminOperations } from '../../../http/routes/admin/table.ts';
import { CommandError } from '../command.ts';
import { findNearest } from '../nearest.ts';

export interface ParsedCommand {
  readonly operation: AdminOperation;
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
  ...new Set(adminOperations.map(({ command }) => command.split(' ')[0] ?? '')),
];

export const listOperations = (group: string): readonly AdminOperation[] =>
  adminOperations.filter(({ command }) => command.startsWith(`${group} `));

const listSchemaFields = (schema: TSchema | undefined, place: Field['place']): Field[] => {
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
export const listFields = ({ route }: AdminOperation): readonly Field[] => [
  ...listSchemaFields(route.query, 'query'),
  ...listSchemaFields(route.body, 'body'),
];

/** A list of objects has no words: it comes from a file. */
const isOptionField = ({ schema }: Field): boolean =>
  schema.type !== 'object' &&
  (schema.type !== 'array' || (schema as { items?: TSchema & { type?: string } }).items?.type !== 'object');

export const listOptionFields = (operation: AdminOperation): readonly Field[] =>
  listFields(operation).filter(isOptionField);

/** `target_type` as it stands in a usage: `TARGET-TYPE`. */
export const toParameterName = (name: string): string => name.replaceAll('_', '-').toUpperCase();

const formatCommand = ({ command, route }: AdminOperation): string =>
  [command, ...listParameterNames(route.path).map(toParameterName)].join(' ');

/** `bots approve ID`, with the options that cannot be left out. */
export const formatShortUsage = (operation: AdminOperation): string => {
  const needed = listOptionFields(operation).filter((field) => field.required);
  const options = needed.map((field) => `--${field.option} ${describeValue(field)}`);
  const file = listFields(operation).some((field) => field.required && !isOptionField(field));
  return [formatCommand(operation), ...options, ...(file ? ['--file FILE'] : [])].join(' ');
};

/** `bots approve ID [options]`. */
export const formatUsage = (operation: AdminOperation): string => `${formatShortUsage(operation)} [options]`;

const isNumber = ({ type }: Field['schema']): boolean => type === 'integer' || type === 'number';

export const describeValue = ({ name, schema }: Field): string => {
  const item = (schema as { items?: Field['schema'] }).items ?? schema;
  if (item.enum !== undefined) return item.enum.join('|');
  // A page is a string to its schema, because its check has words of its own.
  return isNumber(item) || name === 'page' ? 'N' : 'TEXT';
};

const describeLength = ({ minLength, maxLength }: { minLength?: number; maxLength?: number }): string => {
  if (maxLength === undefined) return '';
  return minLength ? `${minLength} to ${maxLength} characters.` : `Up to ${maxLength} characters.`;
};

/** What one line of help says about an option. */
export const formatOption = (field: Field): string => {
  const { schema, required } = field;
  const item = (schema as { items?: Field['schema'] }).items ?? schema;
  const told = schema.description ?? item.description ?? '';
  const example = (item as { examples?: readonly unknown[] }).examples?.[0];
  const words = [
    required ? 'Needed.' : '',
    told || describeLength(item as { maxLength?: number }),
    told === '' && typeof example === 'string' && example.length <= 40 ? `For example "${example}".` : '',
    schema.type === 'array' ? 'Repeat it for more than one.' : '',
    schema.type === 'boolean' && told === '' ? 'Yes; no when absent.' : '',
  ];
  return words.filter(Boolean).join(' ');
};

/** Parameters of the path with what is known of them: `ID` and `Id of a user.` */
export const listParameters = ({ route }: AdminOperation): readonly { said: string; told: string }[] => {
  const { properties = {} } = route.params as { properties?: Record<string, Field['schema']> };
  return listParameterNames(route.path).map((name) => ({
    said: toParameterName(name),
    told: properties[name]?.description ?? '',
  }));
};

/** Fields that only a file can give. */
export const listFileFields = (operation: AdminOperation): readonly Field[] =>
  listFields(operation).filter((field) => !isOptionField(field));

const parseValue = (field: Field, given: string | boolean | readonly (string | boolean)[]): unknown => {
  if (!isNumber(field.schema)) return given;
  const number = Number(given);
  if (given !== '' && Number.isFinite(number)) return number;
  throw new CommandError(`--${field.option} must be a number, not "${String(given)}".`, 2);
};

const buildOptions = (operation: AdminOperation) => {
  const named = listOptionFields(operation).map((field) => [
    field.option,
    field.schema.type === 'boolean'
      ? ({ type: 'boolean' } as const)
      : ({ type: 'string', multiple: field.schema.type === 'array' } as const),
  ]);
  return { ...Object.fromEntries(named), json: { type: 'boolean' }, file: { type: 'string' } } as const;
};

const buildPath = ({ route }: AdminOperation, words: readonly string[]): string =>
  listParameterNames(route.path).reduce(
    (path, name, index) => path.replace(`{${name}}`, encodeURIComponent(words[index] ?? '')),
    route.path,
  );

/** What a path can carry: no slash, no control character, and not what addresses mean by dots. */
const isPathArgument = (word: string): boolean =>
  !['', '.', '..'].includes(word) && !word.includes('/') && new RegExp(plainText).test(word);

type OptionValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

const gather = (
  operation: AdminOperation,
  place: Field['place'],
  values: OptionValues,
): Record<string, unknown> => {
  const fields = listOptionFields(operation).filter(
    (field) => field.place === place && values[field.option] !== undefined,
  );
  return Object.fromEntries(
    fields.map((field) => [field.name, parseValue(field, values[field.option] as string)]),
  );
};

/** The operation that these words name; throws words for the operator. */
export const findOperation = (words: readonly string[]): AdminOperation => {
  const [group = '', verb = ''] = words;
  const found = adminOperations.find(({ command }) => command === `${group} ${verb}`);
  if (found !== undefined) return found;
  const verbs = listOperations(group).map(({ command }) => command.split(' ')[1] ?? '');
  const meant = findNearest(verb, verbs);
  const hint =
    meant === null
      ? `After "${group}" comes one of ${verbs.join(', ')}.`
      : `Did you mean "${group} ${meant}"?`;
  throw new CommandError(`There is no command "${group} ${verb}". ${hint}`, 2);
};

/** Throws words for the operator, exit code 2, when they cannot be turned into a request. */
export const parseCommand = (argv: readonly string[]): ParsedCommand => {
  const operation = findOperation(argv);
  const usage =
    `Usage: npm run ops -- ${formatUsage(operation)}\n` + `More: npm run ops -- help ${operation.command}`;
  const parsed = parse(argv.slice(2), operation, usage);
  const names = listParameterNames(operation.route.path);
  const missing = names[parsed.positionals.length];
  if (missing !== undefined) throw new CommandError(`${toParameterName(missing)} is missing.\n${usage}`, 2);
  const further = parsed.positionals[names.length];
  if (further !== undefined) throw new CommandError(`"${further}" is one word too many.\n${usage}`, 2);
  const odd = parsed.positionals.find((word) => !isPathArgument(word));
  if (odd !== undefined) throw new CommandError(`${JSON.stringify(odd)} cannot be an id or a name.`, 2);
  const query = new URLSearchParams(gather(operation, 'query', parsed.values) as Record<string, string>);
  const path = buildPath(operation, parsed.positionals);
  return {
    operation,
    path: query.size === 0 ? path : `${path}?${query}`,
    body: operation.route.body === undefined ? undefined : gather(operation, 'body', parsed.values),
    bodyFile: String(parsed.values.file ?? ''),
    json: parsed.values.json === true,
  };
};

const parse = (
  args: string[] | readonly string[],
  operation: AdminOperation,
  usage: string,
): { values: OptionValues; positionals: string[] } => {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: buildOptions(operation) });
  } catch (error) {
    throw new CommandError(`${(error as Error).message.split('. ')[0]}.\n${usage}`, 2);
  }
};
