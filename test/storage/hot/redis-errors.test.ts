/**
 * What each error of Redis means: whether the call had an effect, and why it failed.
 * A table of the texts that Redis sends.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { classifyError } from '../../../storage/hot/redis/errors.ts';

const test = suite('redis errors');

const answer = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

const table: readonly (readonly [error: Error, meaning: string])[] = [
  [answer('LOADING Redis is loading the dataset in memory'), 'not_applied busy'],
  [answer("READONLY You can't write against a read only replica."), 'not_applied busy'],
  [answer('MASTERDOWN Link with MASTER is down'), 'not_applied busy'],
  [answer('NOREPLICAS Not enough good replicas to write.'), 'not_applied busy'],
  [answer('CLUSTERDOWN The cluster is down'), 'not_applied busy'],
  [answer('CLUSTERDOWN Hash slot not served'), 'not_applied busy'],
  [answer('BUSY Redis is busy running a script.'), 'not_applied busy'],
  [answer('TRYAGAIN Multiple keys request during rehashing of slot'), 'not_applied busy'],
  [answer('MOVED 3999 127.0.0.1:6381'), 'not_applied busy'],
  [answer('ASK 3999 127.0.0.1:6381'), 'not_applied busy'],
  [answer('ERR Function not found'), 'not_applied busy'],
  [answer("OOM command not allowed when used memory > 'maxmemory'."), 'not_applied full'],
  [answer('MISCONF Errors writing to the AOF file: No space left on device'), 'not_applied full'],
  [answer('NOAUTH Authentication required.'), 'not_applied busy'],
  [answer('WRONGPASS invalid username-password pair or user is disabled.'), 'not_applied busy'],
  [answer("NOPERM this user has no permissions to run the 'fcall' command"), 'not_applied busy'],
  [answer('WRONGTYPE Operation against a key holding the wrong kind of value'), 'not_applied busy'],
  [answer('ERR user_function:812: a vote needs an itag for each vote it grants'), 'not_applied bug'],
  [answer('HALFWRITTEN WRONGTYPE Operation against a key'), 'unknown busy'],
  [answer('HALFWRITTEN user_function:9: attempt to index a nil value'), 'unknown bug'],
  [answer("ERR unknown command 'FCALL', with args beginning with: "), 'not_applied busy'],
  [answer('ERR Unknown Redis command called from script script: rollcall_commit'), 'not_applied busy'],
  [answer('ERR ACL failure in script: User mute has no permissions'), 'not_applied busy'],
  [answer('ERR max number of clients reached'), 'not_applied busy'],
  [answer('ERR something that a later Redis refuses'), 'not_applied busy'],
  [new Error("Stream isn't writeable and enableOfflineQueue options is false"), 'not_applied unreachable'],
  [new Error("Cluster isn't ready and enableOfflineQueue options is false"), 'not_applied unreachable'],
  [new Error('Failed to refresh slots cache.'), 'not_applied unreachable'],
  [new Error('Connection is closed.'), 'unknown unreachable'],
  [new Error('Connection is ended.'), 'unknown unreachable'],
  [new Error('Command aborted due to connection close'), 'unknown unreachable'],
  [new Error('Reached the max retries per request limit (which is 0).'), 'unknown unreachable'],
  [new Error('Command timed out'), 'unknown unreachable'],
  [new Error('Socket timeout. Expecting data, but none came in 3000ms.'), 'unknown unreachable'],
  [new Error('read ECONNRESET'), 'unknown unreachable'],
  [new Error('write EPIPE'), 'unknown unreachable'],
  [new Error('connect ETIMEDOUT'), 'unknown unreachable'],
  [new Error('something nobody thought of'), 'unknown bug'],
  [
    new Error('Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys'),
    'not_applied busy',
  ],
];

for (const [error, meaning] of table) {
  test(`${error.message.slice(0, 60)} → ${meaning}`, () => {
    const { outcome, reason } = classifyError(error);

    assert.is(`${outcome} ${reason}`, meaning);
  });
}

test.run();
