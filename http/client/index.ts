/**
 * The client of a directory: requests, an autoposter, the vote log, the feed, and webhooks.
 */
export {
  type Autoposter,
  type AutopostOptions,
  autopost,
  readShards,
  type ShardNumbers,
} from './autopost.ts';
export { type FollowMessage, type FollowOptions, follow } from './follow.ts';
export { groupByRequest, type LogOptions, type LogPage, type LogTarget, log } from './log.ts';
export {
  type ReceivedEvent,
  type ReceivedRequest,
  type ReceiveOptions,
  receive,
  SignatureError,
} from './receive.ts';
export type { ReplyOf } from './replies.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  DirectoryError,
  type RequestOptions,
  type ServerCounts,
} from './request.ts';
export type * from './types.ts';
