/**
 * `npm run ops -- bots approve 123`: sends a request to the private listener of a running node and prints
 * the answer.
 *
 * The address and the token come from the settings (ADMIN_HOST, ADMIN_PORT, ADMIN_TOKEN, or the token file
 * in DATA_DIR). Never opens a store: the node does the work, so that it updates caches and informs other
 * nodes.
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
  /** The setting or the file it was read from. */
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
        "Set DATA_DIR to the node's data folder, or set ADMIN_TOKEN.",
    );
  }
};

const readBody = ({ body, bodyFile }: ParsedCommand): string | undefined => {
  if (bodyFile === '') return body === undefined ? undefined : JSON.stringify(body);
  try {
    const fields: unknown = JSON.parse(readFileSync(bodyFile, 'utf8'));
    if (typeof fields === 'object' && !Array.isArray(fields)) return JSON.stringify({ ...fields, ...body });
    throw new Error('it must contain one JSON object with the fields of the request');
  } catch (error) {
    throw new CommandError(`--file ${bodyFile}: ${(error as Error).message}`);
  }
};

interface OperatorReply {
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

/** Throws when the answer is not from Rollcall: its errors are JSON with a `message`. */
const readReply = async (response: Response, url: string): Promise<OperatorReply> => {
  const answer: unknown = await response.json().catch(() => null);
  const isObject = typeof answer === 'object' && answer !== null;
  if (isObject && (response.ok || 'message' in answer)) {
    return { status: response.status, answer: answer as OperatorReply['answer'] };
  }
  throw new CommandError(
    `The server at ${url} is not an operator's listener (HTTP ${response.status}). Check ADMIN_PORT.`,
  );
};

const createNoAnswerError = (error: Error, url: string): CommandError => {
  if (error.name === 'TimeoutError') {
    const reason = `${url} did not answer within ${answerMsMax / 1_000} s`;
    return new CommandError(`${reason}. It may have done the work: check with "audit list".`);
  }
  const reason = (error.cause as { code?: string } | undefined)?.code ?? error.message;
  return new CommandError(
    `No node answers at ${url} (${reason}). Start it, or set ADMIN_HOST and ADMIN_PORT to its address.`,
  );
};

const sendCommand = async (
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
  return readReply(response, url);
};

/** Turns the JSON pointer of an error (`/short`) into what the operator types (`--short`). */
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
  const lines = faults.map(([name, fault]) => `  ${findTypedName(command, name)} ${fault}`);
  if (context.code === 'route_not_found')
    lines.push("  Check that ADMIN_PORT is the port of the operator's listener.");
  if (status === 401) lines.push(`  The token is from ${source}. Check that it belongs to this node.`);
  if (context.outcome === 'unknown')
    lines.push('  The node may have done the work: check with "audit list".');
  if (status === 500) lines.push(`  See the log of the node, request id ${context.request_id}.`);
  return `${[String(answer.message), ...lines].join('\n')}\n`;
};

/** Runs one operator's command. Resolves to the exit code. Rejects with `CommandError`. */
export const runOperation = async (
  argv: readonly string[],
  terminal: Terminal,
  config: Config,
): Promise<number> => {
  const command = parseCommand(argv);
  const key = findKey(config);
  const reply = await sendCommand(command, config, key);
  const { status, answer } = reply;
  if (command.json) terminal.out.write(`${JSON.stringify(answer, null, 2)}\n`);
  if (status < 300) {
    if (!command.json) terminal.out.write(formatAnswer(answer));
    return 0;
  }
  terminal.err.write(describeRefusal(command, reply, key));
  return 1;
};

/** The help text of a group of commands, or of one command. */
export const formatOperationHelp = (args: readonly string[]): string => {
  const [group = '', verb] = args;
  if (verb === undefined) {
    const operations = listOperations(group);
    const lines = operations.map(
      (operation) => `  ${formatShortUsage(operation)}\n      ${operation.route.summary}`,
    );
    const more = `More: npm run ops -- help ${operations[0]?.command}`;
    return ['Usage: npm run ops -- COMMAND', '', ...lines, '', more, ''].join('\n');
  }
  const operation = findOperation(args);
  const options = listOptionFields(operation).map((field) => ({
    syntax:
      field.schema.type === 'boolean' ? `--${field.option}` : `--${field.option} ${describeValue(field)}`,
    description: formatOption(field),
  }));
  const help = [...listParameters(operation), ...options];
  if (operation.route.body !== undefined)
    help.push({ syntax: '--file FILE', description: describeBodyFile(operation) });
  help.push({ syntax: '--json', description: 'Prints the answer as JSON.' });
  const width = Math.max(...help.map(({ syntax }) => syntax.length));
  const lines = help.map(({ syntax, description }) => `  ${syntax.padEnd(width)}   ${description}`.trimEnd());
  const usage = `Usage: npm run ops -- ${formatUsage(operation)}`;
  return [usage, '', operation.route.summary, '', ...lines, ''].join('\n');
};

const describeBodyFile = (operation: AdminOperation): string => {
  const names = listFileFields(operation).map(({ name }) => name);
  const text = 'A file with a JSON object of fields. Options override it.';
  return names.length === 0 ? text : `${text} Only the file can set: ${names.join(', ')}.`;
};

/** Whether the first argument names operations of a running node: `bots`, `users` … */
export const isOperatorGroup = (argument: string): boolean => groups.includes(argument);
