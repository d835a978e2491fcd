/**
 * One POST over a given connection, and what its outcome means.
 *
 * Knows nothing of addresses: the connection leads only to judged ones (send.ts). A status decides the
 * outcome, whatever becomes of the answer's body; at most 4 KB of that are read, for at most a second. No
 * redirect is followed. Never throws: every outcome is a value.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { parseRetryAfterMs } from '../retry-after.ts';

/**
 * Why an attempt failed, `''` when it succeeded:
 * - `status`: an answer that is neither 2xx nor 3xx; `redirect`: 3xx;
 * - `timeout`: no answer in time;
 * - `address_refused`: the URL, or an address of its host, is not public;
 * - `dns`: the host has no address, or no name server answered;
 * - `tls`: the handshake failed, or the certificate is not valid for this host;
 * - `connection`: no connection, or one that ended before an answer;
 * - `answer_invalid`: what arrived is not HTTP;
 * - `closed`: this node ended the attempt, or could not make it, which says nothing about the receiver.
 */
export type WebhookError =
  | ''
  | 'status'
  | 'redirect'
  | 'timeout'
  | 'address_refused'
  | 'dns'
  | 'tls'
  | 'connection'
  | 'answer_invalid'
  | 'closed';

export interface WebhookFailure {
  readonly error: WebhookError;
  /** A sentence for the owner of the endpoint. */
  readonly detail: string;
}
export interface WebhookAnswer extends WebhookFailure {
  /** 0 without an answer. */
  readonly status: number;
  /** The beginning of the answer's body: at most 512 bytes of UTF-8, without NUL. */
  readonly response: string;
  /** The wait that the receiver requested; not bounded. */
  readonly retryAfterMs: number | undefined;
}

/** One attempt, which its owner may end at any time. It needs no listeners, as an `AbortSignal` would. */
export interface WebhookAttempt {
  /** Why it was ended, `null` while it was not. */
  failure: WebhookFailure | null;
  /** Ends what is in progress. */
  stop: () => void;
}

/** Ends the attempt. The first failure is the one to report. */
export const endAttempt = (attempt: WebhookAttempt, failure: WebhookFailure): void => {
  if (attempt.failure !== null) return;
  attempt.failure = failure;
  attempt.stop();
};

/** A connection that carries one request at a time. */
export interface Carrier {
  readonly client: Pick<Dispatcher, 'dispatch' | 'destroy'>;
  /** How many answers have come through its present socket. */
  answers: number;
}

export interface WebhookRequest {
  readonly url: URL;
  /** Destroyed where the answer did not end. */
  readonly carrier: Carrier;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** An attempt that has not ended. */
  readonly attempt: WebhookAttempt;
}

const answerBytesMax = 4_096;
const responseBytesMax = 512;
/** How long the rest of an answer may take after its status, which alone decides the outcome. */
const bodyMsMax = 1_000;
const detailCharactersMax = 300;

/** Resolves to `stale_socket` when a kept socket turned out to have ended: the request may be sent again. */
export const sendRequest = (sent: WebhookRequest): Promise<WebhookAnswer | 'stale_socket'> =>
  new Promise((resolve) => {
    const { url, carrier, headers, body, attempt } = sent;
    const { client } = carrier;
    const isReused = carrier.answers > 0;
    const stop = (): void => void client.destroy(new Error('it was ended'));
    let answer: AnswerStart | null = null;
    attempt.stop = stop;
    client.dispatch(
      { method: 'POST', path: url.pathname + url.search, headers: { ...headers }, body },
      {
        onRequestStart: () => {},
        onResponseStart: (_, status, answerHeaders) => {
          // An informational status such as 103 comes before the answer proper.
          if (status < 200) return;
          const timer = setTimeout(stop, bodyMsMax);
          answer = { status, headers: answerHeaders, chunks: [], bytes: 0, timer };
        },
        onResponseData: (_, chunk) => {
          if (answer === null) return;
          answer.chunks.push(chunk);
          answer.bytes += chunk.length;
          if (answer.bytes > answerBytesMax) stop();
        },
        onResponseEnd: () => {
          carrier.answers++;
          if (answer !== null) resolve(endAnswer(answer));
        },
        onResponseError: (_, error) => {
          if (answer !== null) resolve(endAnswer(answer));
          else resolve(isReused && isEnd(error) ? 'stale_socket' : toFailedAnswer(sent, error));
        },
      },
    );
  });

interface AnswerStart {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: Buffer[];
  bytes: number;
  /** Ends the connection of a body that does not end. */
  readonly timer: NodeJS.Timeout;
}

/** Whether the receiver has ended the socket. */
const isEnd = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';

/** Converts an answer's bytes to text that SQL can store: well-formed, without NUL. */
const toStoredText = (chunks: readonly Buffer[]): string => {
  if (chunks.length === 0) return '';
  const text = Buffer.concat(chunks).subarray(0, responseBytesMax).toString('utf8').replaceAll('\0', '');
  // Replacement characters may have made it longer.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(responseBytesMax));
  return text.slice(0, read);
};

const endAnswer = ({ status, headers, chunks, timer }: AnswerStart): WebhookAnswer => {
  clearTimeout(timer);
  const { error, detail } = judgeStatus(status, headers.location);
  const response = toStoredText(chunks);
  return {
    status,
    error,
    detail: shorten(detail),
    response,
    retryAfterMs: parseRetryAfterMs(headers, response),
  };
};

const judgeStatus = (status: number, location: string | undefined): WebhookFailure => {
  if (status >= 200 && status <= 299) return { error: '', detail: '' };
  if (status < 300 || status > 399) return { error: 'status', detail: `The receiver answered ${status}.` };
  const where = location === undefined ? '' : ` to ${location}`;
  return {
    error: 'redirect',
    detail: `The receiver redirects (${status}${where}); redirects are not followed.`,
  };
};

const toFailedAnswer = ({ attempt }: WebhookRequest, error: NodeJS.ErrnoException): WebhookAnswer =>
  toUnanswered(attempt.failure ?? classify(error));

export const toUnanswered = ({ error, detail }: WebhookFailure): WebhookAnswer => ({
  status: 0,
  error,
  detail: shorten(detail),
  response: '',
  retryAfterMs: undefined,
});

/** What this machine lacks. */
const ownCodes = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);
const tlsCodes = /CERT|SSL|TLS|EPROTO|UNABLE_TO|HOSTNAME|_CA$/;

/** What an error says of the attempt. Those of several addresses come together, without a message. */
export const classify = ({ name, code = '', message }: NodeJS.ErrnoException): WebhookFailure => {
  if (ownCodes.has(code)) return { error: 'closed', detail: `This server cannot connect (${code}).` };
  if (name === 'HTTPParserError')
    return { error: 'answer_invalid', detail: `The answer is not HTTP: ${message}.` };
  if (tlsCodes.test(code)) return { error: 'tls', detail: `The TLS connection failed: ${message}` };
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return { error: 'answer_invalid', detail: 'The headers of the answer are longer than 16 KB.' };
  if (code === 'UND_ERR_SOCKET')
    return { error: 'connection', detail: `The connection ended without an answer (${message}).` };
  if (code === 'ETIMEDOUT') return { error: 'timeout', detail: 'The host did not accept a connection.' };
  return { error: 'connection', detail: `The connection failed: ${code || message}.` };
};

const shorten = (text: string): string =>
  [...text.toWellFormed().replaceAll('\0', '')].slice(0, detailCharactersMax).join('');
