/**
 * Builds the message for a failed installation: the likely cause, what to do, the end of npm's output, and
 * the path of the whole log.
 */
const linesShown = 25;

const causes = [
  {
    pattern: /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|network/i,
    advice:
      'The package registry could not be reached. Check the network; behind a proxy set HTTPS_PROXY,' +
      ' with a registry of your own run `npm config set registry <url>`.',
  },
  {
    pattern: /CERT|SELF_SIGNED|unable to (get|verify)/,
    advice: 'The registry’s certificate was not trusted. Set your authority: `npm config set cafile <file>`.',
  },
  { pattern: /ENOSPC/, advice: 'The disk is full: about 1 GB is needed here and in the npm cache.' },
  {
    pattern: /EACCES|EPERM/,
    advice:
      'A file could not be written. This folder and ~/.npm must belong to the user who runs the command.',
  },
  { pattern: /EINTEGRITY/, advice: 'A download was damaged. Run `npm cache clean --force`.' },
  {
    pattern: /EBADPLATFORM|GLIBC/,
    advice: 'This system is not supported: Linux (glibc 2.31 or newer) or macOS.',
  },
];

/**
 * `problem` is the cause that install.mjs found: `npm_missing` or a sentence; `null` when npm itself failed.
 */
export const explain = ({ log, logPath, problem }) => {
  if (problem === 'npm_missing') {
    return 'npm was not found. It comes with Node: install Node from https://nodejs.org and try again.';
  }
  const tail = log.trimEnd().split('\n').slice(-linesShown).join('\n');
  const advice = causes.find(({ pattern }) => pattern.test(log))?.advice;
  return [
    'The libraries could not be installed.',
    ...(problem === null ? [] : [`Cause: ${problem}.`]),
    ...(tail === '' ? [] : ['', tail, '']),
    ...(advice === undefined ? [] : [advice]),
    `The whole output of npm is in ${logPath}. Solve the problem, then run the same command again.`,
  ].join('\n');
};
