/**
 * Turns the arguments of an operator's command into a request, by the schemas of its route: positional
 * arguments are path parameters in their order, options are query and body fields (`--start-at` sets
 * `start_at`).
 *
 * Pure. The server checks the values; this file refuses only what cannot be sent.
 */
import { parseArgs } from 'node:util';
import type { TSchema } from 'typebox';
import { plainText } from '../../../http/api/shared/patterns.ts';
import type { AdminOperation } from '../../../http/operator/operation.ts';
import { adminOperations } from '../../../http/operator/table.ts';
import { listParameterNames } from '../../../http/request/match.ts';
import { findNearest } from '../../config/nearest.ts';
import { CommandError } from '../command.ts';

type FieldSchema = TSchema & {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
};

/** The first words of all commands: `bots`, `users` … */
export const groups: readonly string[] = [
  ...new Set(adminOperations.map(({ command }) => command.split(' ')[0] ?? '')),
];

/** The operations of a group: `bots approve`, `bots ban` … */
export const listOperations = (group: string): readonly AdminOperation[] =>
  adminOperations.filter(({ command }) => command.startsWith(`${group} `));

const listSchemaFields = (schema: TSchema | undefined, location: 'query' | 'body') => {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, FieldSchema>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, field]) => ({
    name,
    option: name.replaceAll('_', '-'),
    schema: field,
    required: required.includes(name),
    location,
  }));
};
/** A field of the query or the body. */
type Field = ReturnType<typeof listSchemaFields>[number];

/** All fields of the query and the body. */
export const listFields = ({ route }: AdminOperation): readonly Field[] => [
  ...listSchemaFields(route.query, 'query'),
  ...listSchemaFields(route.body, 'body'),
];

/** An object, or a list of objects, cannot be written as an option: it comes from a file. */
const isOptionField = ({ schema }: Field): boolean =>
  schema.type !== 'object' &&
  (schema.type !== 'array' || (schema as { items?: TSchema & { type?: string } }).items?.type !== 'object');

/** The fields that options can set. */
export const listOptionFields = (operation: AdminOperation): readonly Field[] =>
  listFields(operation).filter(isOptionField);

/** `target_type` → `TARGET-TYPE`, as in usage lines. */
export const toParameterName = (name: string): string => name.replaceAll('_', '-').toUpperCase();

const formatCommand = ({ command, route }: AdminOperation): string =>
  [command, ...listParameterNames(route.path).map(toParameterName)].join(' ');

/** `bots approve ID`, with required options. */
export const formatShortUsage = (operation: AdminOperation): string => {
  const required = listOptionFields(operation).filter((field) => field.required);
  const options = required.map((field) => `--${field.option} ${describeValue(field)}`);
  const needsFile = listFields(operation).some((field) => field.required && !isOptionField(field));
  return [formatCommand(operation), ...options, ...(needsFile ? ['--file FILE'] : [])].join(' ');
};

/** `bots approve ID [options]`. */
export const formatUsage = (operation: AdminOperation): string => `${formatShortUsage(operation)} [options]`;

const isNumber = ({ type }: FieldSchema): boolean => type === 'integer' || type === 'number';

/** The kind of value an option takes: `N`, `TEXT`, or its choices. */
export const describeValue = ({ name, schema }: Field): string => {
  const item = (schema as { items?: FieldSchema }).items ?? schema;
  if (item.enum !== undefined) return item.enum.join('|');
  // The schema of `page` is a string, because its check has a message of its own.
  return isNumber(item) || name === 'page' ? 'N' : 'TEXT';
};

const describeLength = ({ minLength, maxLength }: { minLength?: number; maxLength?: number }): string => {
  if (maxLength === undefined) return '';
  return minLength ? `${minLength} to ${maxLength} characters.` : `Up to ${maxLength} characters.`;
};

/** The help line of an option. */
export const formatOption = (field: Field): string => {
  const { schema, required } = field;
  const item = (schema as { items?: FieldSchema }).items ?? schema;
  const description = schema.description ?? item.description ?? '';
  const example = (item as { examples?: readonly unknown[] }).examples?.[0];
  const sentences = [
    required ? 'Required.' : '',
    description || describeLength(item as { maxLength?: number }),
    description === '' && typeof example === 'string' && example.length <= 40
      ? `For example "${example}".`
      : '',
    schema.type === 'array' ? 'Repeat the option for several values.' : '',
    schema.type === 'boolean' && description === ''
      ? `Sets it to yes; --no-${field.option} sets it to no.`
      : '',
  ];
  return sentences.filter(Boolean).join(' ');
};

/** The help lines of the path parameters: `ID` and `Id of a user.` */
export const listParameters = ({ route }: AdminOperation) => {
  const { properties = {} } = route.params as { properties?: Record<string, FieldSchema> };
  return listParameterNames(route.path).map((name) => ({
    syntax: toParameterName(name),
    description: properties[name]?.description ?? '',
  }));
};

/** The fields that only `--file` can set. */
export const listFileFields = (operation: AdminOperation): readonly Field[] =>
  listFields(operation).filter((field) => !isOptionField(field));

const parseValue = (field: Field, given: string | boolean | readonly (string | boolean)[]): unknown => {
  if (!isNumber(field.schema)) return given;
  const number = Number(given);
  if (String(given).trim() !== '' && Number.isFinite(number)) return number;
  throw new CommandError(`--${field.option} must be a number, not "${String(given)}".`, 2);
};

const buildOptions = (operation: AdminOperation) => {
  const options = listOptionFields(operation).map((field) => [
    field.option,
    field.schema.type === 'boolean'
      ? ({ type: 'boolean' } as const)
      : ({ type: 'string', multiple: field.schema.type === 'array' } as const),
  ]);
  return {
    ...Object.fromEntries(options),
    ...(operation.isPreviewed && { yes: { type: 'boolean' } as const }),
    json: { type: 'boolean' },
    file: { type: 'string' },
  } as const;
};

const buildPath = ({ route }: AdminOperation, parameters: readonly string[]): string =>
  listParameterNames(route.path).reduce(
    (path, name, index) => path.replace(`{${name}}`, encodeURIComponent(parameters[index] ?? '')),
    route.path,
  );

/** Whether a path segment can hold the text: no slash, no control character, not `.` or `..`. */
const isPathArgument = (text: string): boolean =>
  !['', '.', '..'].includes(text) && !text.includes('/') && new RegExp(plainText).test(text);

type OptionValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

const collectFields = (
  operation: AdminOperation,
  location: 'query' | 'body',
  values: OptionValues,
): Record<string, unknown> => {
  const fields = listOptionFields(operation).filter(
    (field) => field.location === location && values[field.option] !== undefined,
  );
  return Object.fromEntries(
    fields.map((field) => [field.name, parseValue(field, values[field.option] as string)]),
  );
};

/** Finds the operation of `bots approve …`. Throws `CommandError` with a hint for an unknown one. */
export const findOperation = (argv: readonly string[]): AdminOperation => {
  const [group = '', verb = ''] = argv;
  const operation = adminOperations.find(({ command }) => command === `${group} ${verb}`);
  if (operation !== undefined) return operation;
  const verbs = listOperations(group).map(({ command }) => command.split(' ')[1] ?? '');
  const nearest = findNearest(verb, verbs);
  const hint =
    nearest === null
      ? `The commands of "${group}" are ${verbs.join(', ')}.`
      : `Did you mean "${group} ${nearest}"?`;
  throw new CommandError(`There is no command "${group} ${verb}". ${hint}`, 2);
};

/** Parses a command. Throws `CommandError` with exit code 2 when the arguments do not make a request. */
export const parseCommand = (argv: readonly string[]) => {
  const operation = findOperation(argv);
  const usage =
    `Usage: rollcall ops ${formatUsage(operation)}\n` + `More: rollcall ops help ${operation.command}`;
  const parsed = parse(argv.slice(2), operation, usage);
  const names = listParameterNames(operation.route.path);
  const missing = names[parsed.positionals.length];
  if (missing !== undefined) throw new CommandError(`${toParameterName(missing)} is missing.\n${usage}`, 2);
  const extra = parsed.positionals[names.length];
  if (extra !== undefined) throw new CommandError(`"${extra}" is one argument too many.\n${usage}`, 2);
  const invalid = parsed.positionals.find((argument) => !isPathArgument(argument));
  if (invalid !== undefined) throw new CommandError(`${JSON.stringify(invalid)} is not an id or a name.`, 2);
  const query = new URLSearchParams(
    collectFields(operation, 'query', parsed.values) as Record<string, string>,
  );
  const path = buildPath(operation, parsed.positionals);
  const isDryRun = parsed.values['dry-run'] === true;
  return {
    operation,
    /** Path and query. */
    path: query.size === 0 ? path : `${path}?${query}`,
    /** `undefined` for no body. */
    body: operation.route.body === undefined ? undefined : collectFields(operation, 'body', parsed.values),
    /** A JSON file with body fields, which options override; `''` for none. */
    bodyFile: String(parsed.values.file ?? ''),
    /** Print the answer as JSON. */
    json: parsed.values.json === true,
    /** The operator has confirmed it already. */
    isConfirmed: !operation.isPreviewed || parsed.values.yes === true || isDryRun,
    /** It only shows what it would do. */
    isDryRun,
  };
};
export type ParsedCommand = ReturnType<typeof parseCommand>;

/** `parseArgs` refuses a value with a dash behind its option. Half of all hashes are such numbers. */
const attachNegatives = (args: readonly string[]): string[] =>
  args.reduce<string[]>((attached, argument) => {
    const option = attached.at(-1) ?? '';
    const isValue = /^-\d+$/.test(argument) && /^--[\w-]+$/.test(option);
    return isValue ? [...attached.slice(0, -1), `${option}=${argument}`] : [...attached, argument];
  }, []);

const parse = (
  args: readonly string[],
  operation: AdminOperation,
  usage: string,
): { values: OptionValues; positionals: string[] } => {
  try {
    const options = buildOptions(operation);
    return parseArgs({ args: attachNegatives(args), allowPositionals: true, allowNegative: true, options });
  } catch (error) {
    throw new CommandError(`${(error as Error).message.split('. ')[0]}.\n${usage}`, 2);
  }
};
