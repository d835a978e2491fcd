/**
 * `npm run ops -- bots approve 123`: asks the private listener of a running node and shows its answer.
 *
 * The address and the token come from the settings (ADMIN_HOST, ADMIN_PORT, ADMIN_TOKEN, or the token file in
 * DATA_DIR). Never opens a store: a running node does the work, so caches and other nodes hear of it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { operatorTokenFile } from '../../operator-token.ts';
import { CommandError, type Terminal } from '../command.ts';
import { answerText } from './table.ts';
import {
  type Asked,
  askedBy,
  groups,
  operationNamed,
  operationsOf,
  sayable,
  usageOf,
  valueWord,
} from './words.ts';

const answerMsMax = 30_000;

const tokenOf = (config: Config): string => {
  if (config.adminToken !== '') return config.adminToken;
  const path = join(config.dataDir, operatorTokenFile);
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(
      `The operator's token is not in ${path} (${code}). ` +
        "Say where the node's data is with DATA_DIR, or give ADMIN_TOKEN.",
    );
  }
};

const addressOf = ({ adminHost, adminPort }: Config): string => {
  const host = adminHost === '0.0.0.0' ? '127.0.0.1' : adminHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${adminPort}`;
};

const bodyOf = ({ body, bodyFile }: Asked): string | undefined => {
  if (bodyFile === '') return body === undefined ? undefined : JSON.stringify(body);
  try {
    return JSON.stringify({ ...JSON.parse(readFileSync(bodyFile, 'utf8')), ...body });
  } catch (error) {
    throw new CommandError(`--file ${bodyFile}: ${(error as Error).message}`);
  }
};

const ask = async (
  asked: Asked,
  config: Config,
): Promise<{ status: number; answer: Record<string, unknown> }> => {
  const url = addressOf(config);
  const body = bodyOf(asked);
  const response = await fetch(`${url}${asked.path}`, {
    method: asked.operation.row.method,
    headers: { authorization: `Operator ${tokenOf(config)}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(answerMsMax),
    ...(body === undefined ? {} : { body }),
  }).catch((error: Error) => {
    const why = (error.cause as { code?: string } | undefined)?.code ?? error.message;
    throw new CommandError(
      `No node answers at ${url} (${why}). Start it, or say where it is with ADMIN_HOST and ADMIN_PORT.`,
    );
  });
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
};

/** `/short` of a refusal as the option that can be given. */
const faultLines = (context: Record<string, string>): string[] =>
  Object.entries(context)
    .filter(([name]) => name.startsWith('/'))
    .map(([name, words]) => `  --${name.slice(1).replaceAll('_', '-')} ${words}`);

/** Runs one operator's command. Resolves to the exit code; rejects with `CommandError`. */
export const runOperation = async (
  argv: readonly string[],
  terminal: Terminal,
  config: Config,
): Promise<number> => {
  const asked = askedBy(argv);
  const { status, answer } = await ask(asked, config);
  if (asked.json) terminal.out.write(`${JSON.stringify(answer, null, 2)}\n`);
  if (status < 300) {
    if (!asked.json) terminal.out.write(answerText(answer));
    return 0;
  }
  const context = (answer.context ?? {}) as Record<string, string>;
  terminal.err.write(`${[String(answer.message), ...faultLines(context)].join('\n')}\n`);
  return 1;
};

/** Help for one group of commands, or for one command. */
export const operationHelp = (words: readonly string[]): string => {
  const [group = '', verb] = words;
  if (verb === undefined) {
    const listed = operationsOf(group);
    const width = Math.max(...listed.map(({ command }) => command.length));
    const lines = listed.map(({ command, row }) => `  ${command.padEnd(width)}   ${row.summary}`);
    return ['Usage: npm run ops -- COMMAND', '', ...lines, '', 'More: npm run ops -- help COMMAND', ''].join(
      '\n',
    );
  }
  const operation = operationNamed(words);
  const fields = sayable(operation);
  const width = Math.max(0, ...fields.map((field) => field.option.length + valueWord(field).length));
  const lines = fields.map((field) => {
    const said = field.schema.type === 'boolean' ? field.option : `${field.option} ${valueWord(field)}`;
    return `  --${said.padEnd(width + 1)}   ${field.schema.description ?? ''}`.trimEnd();
  });
  return [`Usage: npm run ops -- ${usageOf(operation)}`, '', operation.row.summary, ...lines, ''].join('\n');
};

export const isOperatorGroup = (word: string): boolean => groups.includes(word);
