/**
 * Forms for operations, drawn from their own schemas, so they are never out of date. Each shows the command
 * that does the same. A change asks once, with what it would do where the operation can say that.
 */
import {
  type Answer,
  describeAnswer,
  type FieldSchema,
  type PageOperation,
  type PageSession,
} from './api.ts';
import { confirm, fill, make, notify } from './dom.ts';
import { makeAnswer } from './tables.ts';

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Texts that may be longer get several lines. */
const lineCharactersMax = 200;

const isJson = ({ type, items, enum: choices }: FieldSchema): boolean =>
  type === 'object' ||
  (type === 'array' && items?.type === 'object') ||
  (type === undefined && !items && !choices);

const isList = ({ type, items }: FieldSchema): boolean => type === 'array' && items?.type !== 'object';

const choiceTexts: Readonly<Record<string, string>> = { true: 'yes', false: 'no' };

const makeControl = (schema: FieldSchema, attributes: Record<string, string | boolean>): Control => {
  const choices = schema.enum ?? (schema.type === 'boolean' ? ['true', 'false'] : null);
  if (choices !== null) {
    const options = choices.map((value) => make('option', { value }, choiceTexts[value] ?? value));
    // Nothing is chosen before: a required choice may be the one that confirms.
    return make('select', attributes, make('option', { value: '' }, '–'), ...options);
  }
  if (isList(schema) || isJson(schema) || (schema.maxLength ?? 0) > lineCharactersMax) {
    return make('textarea', { ...attributes, rows: '3' });
  }
  const example = schema.examples?.[0];
  const placeholder = typeof example === 'string' ? example : '';
  return make('input', { ...attributes, placeholder, autocomplete: 'off', spellcheck: 'false' });
};

const describeField = (schema: FieldSchema): string => {
  const { description, maxLength, items } = schema;
  const hints = [
    description ?? items?.description ?? (maxLength ? `Up to ${maxLength} characters.` : ''),
    isList(schema) ? 'One per line.' : '',
    isJson(schema) ? 'JSON.' : '',
  ];
  return hints.filter(Boolean).join(' ');
};

let idsGiven = 0;

const buildFields = (operation: PageOperation, given: Readonly<Record<string, string>>) =>
  (['params', 'query', 'body'] as const).flatMap((place) => {
    const { properties = {}, required = [] } = operation[place] ?? {};
    return Object.entries(properties)
      .filter(([name]) => name !== 'dry_run')
      .map(([name, schema]) => {
        const isRequired = place === 'params' || required.includes(name);
        idsGiven += 1;
        const control = makeControl(schema, { id: `field-${idsGiven}`, name, required: isRequired });
        if (given[name] !== undefined) control.value = given[name];
        return { name, place, schema, required: isRequired, control };
      });
  });
type FormField = ReturnType<typeof buildFields>[number];

/** `undefined` for a field that was left empty. Throws a `SyntaxError` for JSON that is none. */
const readValue = ({ schema, control }: FormField): unknown => {
  const text = control.value;
  if (text === '') return undefined;
  if (schema.type === 'boolean') return text === 'true';
  if (schema.enum) return text;
  if (isList(schema)) return text.split('\n').filter((line) => line.trim() !== '');
  if (isJson(schema)) return JSON.parse(text);
  return schema.type === 'integer' || schema.type === 'number' ? Number(text) : text;
};

const buildRequest = (operation: PageOperation, fields: readonly FormField[]) => {
  let { path } = operation;
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    const value = readValue(field);
    if (field.place === 'params')
      path = path.replace(`{${field.name}}`, encodeURIComponent(String(value ?? '')));
    else if (value !== undefined && field.place === 'query') query.set(field.name, String(value));
    else if (value !== undefined) body[field.name] = value;
  }
  return { path, query, body: operation.body === undefined ? undefined : body };
};
type Request = ReturnType<typeof buildRequest>;

const quote = (text: string): string =>
  /^[\w.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that does the same, as an operator types it in a shell. */
const formatCommand = (
  { commandStart }: PageSession,
  { command }: PageOperation,
  fields: readonly FormField[],
): string => {
  const words = fields.flatMap((field): readonly string[] => {
    const text = field.control.value;
    const option = `--${field.name.replaceAll('_', '-')}`;
    if (field.place === 'params')
      return [text === '' ? field.name.replaceAll('_', '-').toUpperCase() : quote(text)];
    if (text === '') return [];
    if (field.schema.type === 'boolean') return [text === 'true' ? option : option.replace('--', '--no-')];
    if (isJson(field.schema)) return ['--file', 'FILE'];
    const values = isList(field.schema) ? text.split('\n').filter(Boolean) : [text];
    return values.flatMap((value) => [option, quote(value)]);
  });
  return [commandStart, command, ...words].join(' ');
};

/** Asks, unless the operation only reads. Resolves to whether to go on. */
const confirmChange = async (session: PageSession, operation: PageOperation, request: Request) => {
  if (operation.method === 'GET') return true;
  const target = decodeURIComponent(request.path).split('/').slice(1, 3).join(' ');
  if (!operation.isPreviewed) return confirm(operation.command, `${operation.summary} (${target})`, 'Go on');
  const preview = await session.call(operation.method, `${request.path}?dry_run=true`, request.body);
  const { plan } = preview.json;
  if (preview.status === 200 && typeof plan === 'string') {
    location.hash = `#plan/${plan}`; // There it is confirmed.
    return false;
  }
  if (preview.status === 200) return confirm(operation.command, describeAnswer(preview), 'Go on');
  notify(describeAnswer(preview), 'wrong');
  return false;
};

const send = async (session: PageSession, operation: PageOperation, fields: readonly FormField[]) => {
  let request: Request;
  try {
    request = buildRequest(operation, fields);
  } catch (error) {
    notify((error as Error).message, 'wrong');
    return null;
  }
  if (!(await confirmChange(session, operation, request))) return null;
  const text = request.query.toString();
  return session.call(operation.method, request.path + (text === '' ? '' : `?${text}`), request.body);
};

export interface FormOptions {
  /** Values of fields that are known here: they are not shown. */
  readonly given?: Readonly<Record<string, string>>;
  /** Called after a change was made. */
  readonly onDone?: (answer: Answer) => void;
}

const makeFieldRow = ({ name, schema, required, control }: FormField): HTMLElement =>
  make(
    'div',
    { class: 'field' },
    make('label', { for: control.id }, name.replaceAll('_', ' ') + (required ? ' *' : '')),
    control,
    make('small', {}, describeField(schema)),
  );

/** A form for one operation. */
export const makeForm = (
  session: PageSession,
  operation: PageOperation,
  options: FormOptions = {},
): HTMLElement => {
  const { given = {}, onDone } = options;
  const fields = buildFields(operation, given);
  const command = make('code', { class: 'command' });
  const answerPlace = make('div', { class: 'answer' });
  const isRead = operation.method === 'GET';
  const isForbidden = session.readOnly && !isRead;
  const button = make(
    'button',
    { class: 'main', disabled: isForbidden },
    isRead ? 'Show' : operation.command,
  );
  const showCommand = (): void => fill(command, formatCommand(session, operation, fields));
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    button.disabled = true;
    const answer = await send(session, operation, fields);
    button.disabled = false;
    if (answer === null) return;
    const isDone = answer.status >= 200 && answer.status < 300;
    if ('message' in answer.json) notify(describeAnswer(answer), isDone ? 'done' : 'wrong');
    else fill(answerPlace, makeAnswer(answer.json));
    if (isDone && !isRead) onDone?.(answer);
  };
  const shown = fields.filter(({ name, place }) => place !== 'params' || given[name] === undefined);
  showCommand();
  return make(
    'form',
    { onsubmit: submit, oninput: showCommand },
    make('p', {}, operation.summary),
    ...shown.map(makeFieldRow),
    make(
      'div',
      { class: 'actions' },
      button,
      isForbidden ? make('small', {}, 'Your token may only read.') : null,
    ),
    command,
    answerPlace,
  );
};

/** Values of the path of a change of one row, and the command that makes it. */
interface RowChange {
  readonly command: string;
  readonly label: string;
  readonly given: Readonly<Record<string, string>>;
  readonly onDone: () => void;
}

/** A button in a row of a table: asks as the form of the operation does. */
export const makeRowButton = (
  session: PageSession,
  { command, label, given, onDone }: RowChange,
): HTMLElement | null => {
  const operation = session.operations.find((one) => one.command === command);
  if (operation === undefined) return null;
  const onclick = async (): Promise<void> => {
    const answer = await send(session, operation, buildFields(operation, given));
    if (answer === null) return;
    const isDone = answer.status >= 200 && answer.status < 300;
    notify(describeAnswer(answer), isDone ? 'done' : 'wrong');
    if (isDone) onDone();
  };
  return make('button', { type: 'button', disabled: session.readOnly, onclick }, label);
};

/** Forms that are closed until they are needed. */
export const makeForms = (
  session: PageSession,
  operations: readonly PageOperation[],
  options: FormOptions = {},
): HTMLElement =>
  make(
    'div',
    { class: 'forms' },
    ...operations.map((operation) => {
      const details = make(
        'details',
        {},
        make('summary', {}, operation.command, make('small', {}, operation.summary)),
      );
      details.addEventListener('toggle', () => {
        if (details.open && details.childElementCount === 1)
          details.append(makeForm(session, operation, options));
      });
      return details;
    }),
  );
