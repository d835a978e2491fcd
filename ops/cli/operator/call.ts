/**
 * Sends requests to the private listener of a running node, and reads its answers.
 *
 * The address and the token come from the settings (ADMIN_HOST, ADMIN_PORT, ADMIN_TOKEN, or the token file in
 * DATA_DIR).
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { formatAddress } from '../../config/addresses.ts';
import type { Config } from '../../config/config.ts';
import { operatorTokenFile } from '../../config/operator-token.ts';
import { CommandError, interruptedExitCode } from '../command.ts';

const answerMsMax = 30_000;
/** After Ctrl-C, so that a step which the node is doing can end. */
const interruptedMsMax = 1_000;
const streamPaths: ReadonlySet<string> = new Set(['/stores/copy', '/live']);

export interface OperatorKey {
  readonly token: string;
  /** The setting or the file it was read from. */
  readonly source: string;
}

/** Throws `CommandError` when there is no token. */
export const findKey = (config: Config): OperatorKey => {
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

export interface OperatorReply {
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
}

/** Throws when the answer is not from Rollcall: its errors are JSON with a `message`. */
export const readReply = async (response: Response, url: string): Promise<OperatorReply> => {
  const answer: unknown = await response.json().catch(() => null);
  const isObject = typeof answer === 'object' && answer !== null;
  if (isObject && (response.ok || 'message' in answer)) {
    return { status: response.status, answer: answer as OperatorReply['answer'] };
  }
  throw new CommandError(
    `The server at ${url} is not an operator's listener (HTTP ${response.status}). Check ADMIN_PORT.`,
  );
};

const createNoAnswerError = (
  error: Error,
  { url, method }: { url: string; method: string },
): CommandError => {
  const advice = method === 'GET' ? '' : ' It may have done the work: check with "audit list".';
  if (error.name === 'AbortError')
    return new CommandError(`Interrupted: ${url} did not answer.${advice}`, interruptedExitCode);
  if (error.name === 'TimeoutError')
    return new CommandError(`${url} did not answer within ${answerMsMax / 1_000} s.${advice}`);
  const reason = (error.cause as { code?: string } | undefined)?.code ?? error.message;
  return new CommandError(
    `No node answers at ${url} (${reason}). Start it, or set ADMIN_HOST and ADMIN_PORT to its address.`,
  );
};

export interface NodeRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** JSON text; `undefined` for no body. */
  readonly body?: string | undefined;
  /** Aborted by Ctrl-C. */
  readonly stop: AbortSignal;
}

export const getNodeUrl = (config: Config): string => formatAddress(config.adminHost, config.adminPort);

/** Resolves when the answer begins. Rejects with a `CommandError` that names the address. */
export const sendRequest = async (
  config: Config,
  { token }: OperatorKey,
  { method, path, body, stop }: NodeRequest,
): Promise<Response> => {
  const interrupted = new AbortController();
  const interrupt = (): void => void setTimeout(() => interrupted.abort(), interruptedMsMax).unref();
  if (stop.aborted) interrupt();
  stop.addEventListener('abort', interrupt);
  // A stream goes on for longer, but begins at once.
  const limits = streamPaths.has(path) ? [] : [AbortSignal.timeout(answerMsMax)];
  try {
    return await fetch(`${getNodeUrl(config)}${path}`, {
      method,
      headers: { authorization: `Operator ${token}`, 'content-type': 'application/json' },
      signal: AbortSignal.any([interrupted.signal, ...limits]),
      ...(body === undefined ? {} : { body }),
    });
  } catch (error) {
    throw createNoAnswerError(error as Error, { url: getNodeUrl(config), method });
  } finally {
    stop.removeEventListener('abort', interrupt);
  }
};
