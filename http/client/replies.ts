/**
 * What a request replies, by its method and path: `/bots/123` is the reply of `GET /bots/{id}`.
 *
 * Types alone.
 */
import type { Replies } from './types.ts';

type Split<Path extends string> = Path extends `${infer Head}/${infer Rest}`
  ? [Head, ...Split<Rest>]
  : [Path];

/** A name in braces fits any text. */
type FitsPart<Part, Pattern> = Pattern extends `${string}{${string}}${string}`
  ? true
  : Part extends Pattern
    ? true
    : false;

type Fits<Parts, Patterns> = Parts extends [infer Part, ...infer OtherParts]
  ? Patterns extends [infer Pattern, ...infer OtherPatterns]
    ? FitsPart<Part, Pattern> extends true
      ? Fits<OtherParts, OtherPatterns>
      : false
    : false
  : Patterns extends []
    ? true
    : false;

type Matching<Method extends string, Path extends string> = {
  [Key in keyof Replies]: Key extends `${Method} ${infer Pattern}`
    ? Fits<Split<Path>, Split<Pattern>> extends true
      ? Key
      : never
    : never;
}[keyof Replies];

type WithoutQuery<Path extends string> = Path extends `${infer Start}?${string}` ? Start : Path;

type FindReply<Method extends string, Path extends string> = `${Method} ${Path}` extends keyof Replies
  ? Replies[`${Method} ${Path}`]
  : [Matching<Method, Path>] extends [never]
    ? unknown
    : Replies[Matching<Method, Path>];

/** The reply of this operation; `unknown` where the types cannot tell which one it is. */
export type ReplyOf<Method extends string, Path extends string> = FindReply<Method, WithoutQuery<Path>>;
