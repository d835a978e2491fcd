/**
 * `npm run ops -- bots approve 123`: asks the private listener of a running node and shows its answer.
 *
 * The address and the token come from the settings (ADMIN_HOST, ADMIN_PORT, ADMIN_TOKEN, or the token file in
 * DATA_DIR). Never opens a store: a running node does the work, so caches and other nodes hear of it.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { listParameterNames } from '../../../http/request/match.ts';
import type { AdminOperation } from '../../../http/routes/admin/operation.ts';
import { formatAddress } from '../../addresses.ts';
import type { Config } from '../../config.ts';
import { operatorTokenFile } from '../../operator-token.ts';
import { CommandError, type Terminal } from '../command.ts';
import {
  describeValue,
  findOperation,
  formatOption,
  formatShortUsage,
  formatUsage,
  groups,
  listFileFields,
  listOperations,
  listOptionFields,
  listParameters,
  type ParsedCommand,
  parseCommand,
  toParameterName,
} from './arguments.ts';
import { formatAnswer } from './table.ts';

const answerMsMax = 30_000;

interface OperatorKey {
  readonly token: string;
  /** Where it is from. */
  readonly source: string;
}

const findKey = (config: Config): OperatorKey => {
  if (config.adminToken !== '') return { token: config.adminToken, source: 'ADMIN_TOKEN' };
  const path = resolve(config.dataDir, operatorTokenFile);
  try {
    return { token: readFileSync(path, 'utf8').trim(), source: path };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(
      `The operator's token is not in ${path} (${code}). ` +
        "Say where the node's data is with DATA_DIR, or give ADMIN_TOKEN.",
    );
  }
};

const readBody = ({ body, bodyFile }: ParsedCommand): string | undefined => {
  if (bodyFile === '') return body === undefined ? undefined : JSON.stringify(body);
  try {
    const fields: unknown = JSON.parse(readFileSync(bodyFile, 'utf8'));
    if (typeof fields === 'object' && !Array.isArray(fields)) return JSON.stringify({ ...fields, ...body });
    throw new Error('it must hold one JSON object, the fields of the request');
  } catch (error) {
    throw new CommandError(`--file ${bodyFile}: ${(error as Error).message}`);
  }
};

interface OperatorReply {
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

/** What is not ours has no `message`, or no JSON at all. */
const answerOf = async (response: Response, url: string): Promise<OperatorReply> => {
  const answer: unknown = await response.json().catch(() => null);
  const isObject = typeof answer === 'object' && answer !== null;
  if (isObject && (response.ok || 'message' in answer)) {
    return { status: response.status, answer: answer as OperatorReply['answer'] };
  }
  throw new CommandError(
    `What answers at ${url} is no operator's listener (HTTP ${response.status}). Is ADMIN_PORT right?`,
  );
};

const createNoAnswerError = (error: Error, url: string): CommandError => {
  if (error.name === 'TimeoutError') {
    const words = `${url} took longer than ${answerMsMax / 1_000} s. It may have done it all the same`;
    return new CommandError(`${words}: look at "audit list".`);
  }
  const why = (error.cause as { code?: string } | undefined)?.code ?? error.message;
  return new CommandError(
    `No node answers at ${url} (${why}). Start it, or say where it is with ADMIN_HOST and ADMIN_PORT.`,
  );
};

const ask = async (
  command: ParsedCommand,
  config: Config,
  { token }: OperatorKey,
): Promise<OperatorReply> => {
  const url = formatAddress(config.adminHost, config.adminPort);
  const body = readBody(command);
  const response = await fetch(`${url}${command.path}`, {
    method: command.operation.route.method,
    headers: { authorization: `Operator ${token}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(answerMsMax),
    ...(body === undefined ? {} : { body }),
  }).catch((error: Error) => {
    throw createNoAnswerError(error, url);
  });
  return answerOf(response, url);
};

/** `/short` of a refusal as what the operator wrote, or can write. */
const findTypedName = ({ operation }: ParsedCommand, pointer: string): string => {
  const [name = ''] = pointer.slice(1).split('/');
  if (listParameterNames(operation.route.path).includes(name)) return toParameterName(name);
  const isOption = listOptionFields(operation).some((field) => field.name === name);
  return isOption ? `--${name.replaceAll('_', '-')}` : `"${pointer.slice(1)}" in --file`;
};

const describeRefusal = (
  command: ParsedCommand,
  { status, answer }: OperatorReply,
  { source }: OperatorKey,
): string => {
  const context = (answer.context ?? {}) as Record<string, string>;
  const faults = Object.entries(context).filter(([name]) => name.startsWith('/'));
  const lines = faults.map(([name, words]) => `  ${findTypedName(command, name)} ${words}`);
  if (context.code === 'route_not_found') lines.push("  Is this the operator's listener? See ADMIN_PORT.");
  if (status === 401) lines.push(`  The token is from ${source}. Is this the node that it belongs to?`);
  if (context.outcome === 'unknown') lines.push('  It may have been done all the same: see "audit list".');
  if (status === 500) lines.push(`  The node's log tells more, with the request id ${context.request_id}.`);
  return `${[String(answer.message), ...lines].join('\n')}\n`;
};

/** Runs one operator's command. Resolves to the exit code; rejects with `CommandError`. */
export const runOperation = async (
  argv: readonly string[],
  terminal: Terminal,
  config: Config,
): Promise<number> => {
  const command = parseCommand(argv);
  const key = findKey(config);
  const answered = await ask(command, config, key);
  const { status, answer } = answered;
  if (command.json) terminal.out.write(`${JSON.stringify(answer, null, 2)}\n`);
  if (status < 300) {
    if (!command.json) terminal.out.write(formatAnswer(answer));
    return 0;
  }
  terminal.err.write(describeRefusal(command, answered, key));
  return 1;
};

/** Help for one group of commands, or for one command. */
export const formatOperationHelp = (words: readonly string[]): string => {
  const [group = '', verb] = words;
  if (verb === undefined) {
    const listed = listOperations(group);
    const lines = listed.map((one) => `  ${formatShortUsage(one)}\n      ${one.route.summary}`);
    const more = `More: npm run ops -- help ${listed[0]?.command}`;
    return ['Usage: npm run ops -- COMMAND', '', ...lines, '', more, ''].join('\n');
  }
  const operation = findOperation(words);
  const named = listOptionFields(operation).map((field) => ({
    said: field.schema.type === 'boolean' ? `--${field.option}` : `--${field.option} ${describeValue(field)}`,
    told: formatOption(field),
  }));
  const options = [...listParameters(operation), ...named];
  if (operation.route.body !== undefined)
    options.push({ said: '--file FILE', told: describeBodyFile(operation) });
  options.push({ said: '--json', told: 'The answer as JSON, for programs.' });
  const width = Math.max(...options.map(({ said }) => said.length));
  const lines = options.map(({ said, told }) => `  ${said.padEnd(width)}   ${told}`.trimEnd());
  const usage = `Usage: npm run ops -- ${formatUsage(operation)}`;
  return [usage, '', operation.route.summary, '', ...lines, ''].join('\n');
};

const describeBodyFile = (operation: AdminOperation): string => {
  const only = listFileFields(operation).map(({ name }) => name);
  const words = 'A JSON object of fields; options come before it.';
  return only.length === 0 ? words : `${words} Only there: ${only.join(', ')}.`;
};

export const isOperatorGroup = (word: string): boolean => groups.includes(word);
