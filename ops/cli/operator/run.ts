/**
 * `rollcall ops bots approve 123`: sends a request to the private listener of a running node and prints
 * the answer.
 *
 * call.ts finds the address and the token. Never opens a store: the node does the work, so that it updates
 * caches and informs other nodes.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { AdminOperation } from '../../../http/operator/operation.ts';
import { listParameterNames } from '../../../http/request/match.ts';
import type { Config } from '../../config/config.ts';
import { escapeUnsafe } from '../../log/log.ts';
import { CommandError, interruptedExitCode, type Terminal } from '../command.ts';
import { confirm } from '../confirm.ts';
import { createProgress } from '../progress.ts';
import {
  describeValue,
  findOperation,
  formatOption,
  formatShortUsage,
  formatUsage,
  listFileFields,
  listOperations,
  listOptionFields,
  listParameters,
  type ParsedCommand,
  parseCommand,
  toParameterName,
} from './arguments.ts';
import { findKey, getNodeUrl, type OperatorKey, type OperatorReply, readReply, sendRequest } from './call.ts';
import { formatAnswer, formatJson } from './table.ts';

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
  return `${[String(answer.message), ...lines].map(escapeUnsafe).join('\n')}\n`;
};

/**
 * Runs one operator's command. A command that is hard to undo is first described by the node and confirmed by
 * the operator. Resolves to the exit code. Rejects with `CommandError`.
 */
export const runOperation = async (
  argv: readonly string[],
  terminal: Terminal,
  config: Config,
): Promise<number> => {
  const command = parseCommand(argv);
  const key = findKey(config);
  const request = async (method: string, path: string, body?: string): Promise<OperatorReply> =>
    readReply(
      await sendRequest(config, key, { method, path, body, stop: terminal.signal }),
      getNodeUrl(config),
    );
  const send = (sent: ParsedCommand): Promise<OperatorReply> =>
    request(sent.operation.route.method, sent.path, readBody(sent));
  const read = (path: string): Promise<OperatorReply> => request('GET', path);
  const follow = (reply: OperatorReply): Promise<OperatorReply> => followPlan(reply, terminal, read);
  const run = isPlanned(command.operation) ? runPlanned : runPreviewed;
  const reply = await follow(await run(command, terminal, { send, follow }));
  const { status, answer } = reply;
  if (command.json) terminal.out.write(formatJson(answer));
  if (status < 300) {
    if (!command.json) terminal.out.write(formatAnswer(answer));
    if (isWorking(reply) && terminal.signal.aborted) return interruptedExitCode;
    return answer.state === 'refused' ? 1 : 0;
  }
  terminal.err.write(describeRefusal(command, reply, key));
  return status === 400 ? 2 : 1;
};

interface Requests {
  readonly send: (command: ParsedCommand) => Promise<OperatorReply>;
  /** Waits for the plan in a reply. */
  readonly follow: (reply: OperatorReply) => Promise<OperatorReply>;
}

const runPreviewed = async (command: ParsedCommand, terminal: Terminal, { send }: Requests) => {
  if (command.isConfirmed) return send(command);
  const preview = await send(toDryRun(command));
  if (preview.status !== 200) return preview;
  await confirm(terminal, escapeUnsafe(String(preview.answer.message)));
  return send(command);
};

/** The request names the plan that the operator saw, so exactly that is done. */
const runPlanned = async (command: ParsedCommand, terminal: Terminal, { send, follow }: Requests) => {
  const preview = await follow(await send(command.isDryRun ? command : toDryRun(command)));
  const { plan, state, summary } = preview.answer;
  if (command.isDryRun || preview.status !== 200 || state !== 'planned') return preview;
  if (!command.isConfirmed) {
    terminal.err.write(formatAnswer(preview.answer));
    await confirm(terminal, escapeUnsafe(String(summary)));
  }
  return send({ ...command, body: { plan }, bodyFile: '' });
};

const toDryRun = (command: ParsedCommand): ParsedCommand => ({
  ...command,
  path: `${command.path}?dry_run=true`,
});

/** The help text of a group of commands, or of one command. */
export const formatOperationHelp = (args: readonly string[]): string => {
  const [group = '', verb] = args;
  if (verb === undefined) {
    const operations = listOperations(group);
    const lines = operations.map(
      (operation) => `  ${formatShortUsage(operation)}\n      ${operation.route.summary}`,
    );
    const more = `More: rollcall ops help ${operations[0]?.command}`;
    return ['Usage: rollcall ops COMMAND', '', ...lines, '', more, ''].join('\n');
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
  if (operation.isPreviewed) help.push({ syntax: '--yes', description: 'Skips the confirmation.' });
  help.push({ syntax: '--json', description: 'Prints the answer as JSON.' });
  const width = Math.max(...help.map(({ syntax }) => syntax.length));
  const lines = help.map(({ syntax, description }) => `  ${syntax.padEnd(width)}   ${description}`.trimEnd());
  const usage = `Usage: rollcall ops ${formatUsage(operation)}`;
  return [usage, '', operation.route.summary, '', ...lines, ''].join('\n');
};

const describeBodyFile = (operation: AdminOperation): string => {
  const names = listFileFields(operation).map(({ name }) => name);
  const text = 'A file with a JSON object of fields. Options override it.';
  return names.length === 0 ? text : `${text} Only the file can set: ${names.join(', ')}.`;
};

const lookEveryMs = 500;
const titles: Readonly<Record<string, string>> = {
  planning: 'Running the query',
  voiding: 'Voiding',
  undoing: 'Undoing',
};
const isWorking = ({ answer }: OperatorReply): boolean => titles[String(answer.state)] !== undefined;

/** Whether a dry run of the operation makes a plan, which the request itself then names. */
const isPlanned = ({ route }: AdminOperation): boolean =>
  'plan' in ((route.body as { readonly properties?: object } | undefined)?.properties ?? {});

/** Shows the progress of the plan in a reply. Resolves to a reply with the plan when the node has done it. */
const followPlan = async (
  first: OperatorReply,
  terminal: Terminal,
  read: (path: string) => Promise<OperatorReply>,
): Promise<OperatorReply> => {
  const title = titles[String(first.answer.state)];
  if (title === undefined || typeof first.answer.plan !== 'string') return first;
  const progress = createProgress(terminal.err, title, 'votes');
  let reply = first;
  while (reply.status === 200 && reply.answer.state === first.answer.state && !terminal.signal.aborted) {
    progress.update(Number(reply.answer.done), Number(reply.answer.votes));
    await pause(lookEveryMs);
    reply = await read(`/votes/void/${first.answer.plan}`);
  }
  progress.stop();
  return reply;
};
