// Data of a report, as vmmetrics/viewer writes it, and what modules of its page share; read by tsc (jsconfig.json).

/** `data/index.js`: everything that lists, filters and tables need. Column arrays have one entry per clip. */
interface ReportIndex {
  format: 1;
  title: string;
  provenance: Provenance;
  runs: RunInfo[];
  /** Columns of scores in order of display: motion_index first where there is one, the five, own metrics, ratings. */
  metrics: MetricInfo[];
  models: string[];
  prompts: string[];
  /** Reasons why a score, a clip or a video is missing; other fields refer to them by position. */
  reasons: string[];
  /** Reasons of events that cost points. */
  events: { metric: string; reason: string }[];
  tags: TagInfo[];
  /** Folders of linked videos, relative to index.html, percent-encoded, ending in "/". */
  bases: string[];
  clips: {
    name: string[];
    run: number[];
    model: number[];
    /** Position in `prompts`, -1 for none. */
    prompt: number[];
    frames: (number | null)[];
    fps: (number | null)[];
    /** Position in `reasons` where the clip as a whole failed, else -1. */
    failed: number[];
    scores: Record<string, (number | null)[]>;
    /** By metric: row (as text) to position in `reasons`. "failed" and "not applicable" are told apart by `kind`. */
    missing: Record<
      string,
      Record<string, { reason: number; kind: "missing" | "not applicable" | "failed" | "not scored" }>
    >;
    /**
     * By metric: row (as text) to the number of real sources with a higher score, of how many, and the half-width of
     * its 90 % interval.
     */
    places: Record<string, Record<string, [number, number, number]>>;
    /** Rows of stills, slide shows and noise, whose index counts as 0 in `motion_index_or_0`; ascending. */
    collapsed: number[];
    /** Positions in `events` of the reasons that cost a clip points, each once. */
    events: number[][];
    /** By tag: position in its values, the number itself for numeric tags, null for none. */
    tags: Record<string, (number | null)[]>;
    /** b >= 0: `bases[b]` + encoded name; b < 0: no video, for `reasons[-1 - b]`; text: relative URL. */
    media: (number | string)[];
    /** 1 where posters/<row>.webp is there. */
    poster: number[];
    /** 1 where overlays/<row>.js is there. */
    overlay: number[];
  };
  boards: Board[];
  /** Every two models of one board, on the prompts that both have. */
  pairs: ModelPair[];
  changes: RunChange[];
  groups: TagGroup[];
  /** Clips per shard of data/detail-NNN.js. */
  shard: number;
  /** Spearman of scores with human ratings over all clips, and its mean within models; 95 % intervals. */
  agreement?: Agreement[];
}

/** The sign of metrics of which lower is better is turned: above 0 always means that metric and people agree. */
interface Agreement extends Correlation {
  metric: string;
  /** Metric of kind "rating" less its "rating:". */
  dimension: string;
  clips: number;
  /** null for fewer than two models, or where no model has three clips that vary. */
  within_model: Correlation | null;
  /** Partial correlation within models given the amplitude of motion; null where no amplitude is known. */
  amplitude_constant: Correlation | null;
}
interface Correlation {
  rho: number;
  low: number | null;
  high: number | null;
}

interface Provenance {
  vmmetrics: string;
  /** Lines of text: command without paths, limits, and what was left out and why. */
  notes: string[];
  /** Clips in the runs, and clips in the report. */
  total: number;
  shown: number;
  left_out: { reason: string; clips: number }[];
}

interface RunInfo {
  name: string;
  label: string;
  preset: string;
  protocol: string;
  comparable: boolean;
  clips: number;
  failed: number;
  /** Score version by metric. */
  versions: Record<string, number[]>;
  vmmetrics: string[];
  /** First start and last end, ISO 8601 UTC, or null. */
  begun: string | null;
  ended: string | null;
  notes: string[];
  /** Runs with an equal group are comparable with one another. */
  group: number;
}

interface MetricInfo {
  key: string;
  /** "TCS", "INDEX", own key. */
  label: string;
  title: string;
  /** Least and largest score where that is known. */
  range: [number, number] | null;
  lower_is_better: boolean;
  /** False where a low score is no fault of the clip (PAS). */
  low_is_fault: boolean;
  /** Name of its colour: the key for our own, "own" for the rest. */
  colour: string;
  /** What it tells, for our own. */
  meaning?: string;
  kind: "index" | "metric" | "own" | "rating";
  unit: string;
}

interface TagInfo {
  name: string;
  /** null for numeric tags. */
  values: string[] | null;
}

/** Columns: scores of clips, "average", and "motion_index_or_0": the index with that of collapsed clips as 0. */
interface Board {
  label: string;
  comparable: boolean;
  columns: string[];
  by: string;
  prompts: number;
  notes: string[];
  /** True where several boards exist: numbers are not comparable across them. */
  rows: BoardRow[];
  steps: BoardStep[];
}
interface BoardRow {
  model: string;
  rank: number | null;
  prompts: number;
  clips: number;
  shares: number[];
  cells: Record<string, BoardCell>;
}
interface BoardCell {
  mean: number | null;
  low: number | null;
  high: number | null;
  prompts: number;
  clips: number;
  without: Record<string, number>;
}
interface BoardStep {
  above: string;
  below: string;
  difference: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  p_holm: number | null;
  prompts: number;
}

/** One model against another: difference is `a` less `b`. */
interface ModelPair {
  /** Side: run (position in runs, -1 where the model's board joins several) and model name as the board has it. */
  a: string;
  b: string;
  board: number;
  metrics: Record<string, PairedDifference>;
}
interface PairedDifference {
  difference: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  p_holm: number | null;
  prompts: number;
}

/** A candidate run against a baseline run. */
interface RunChange {
  before: number;
  after: number;
  /** Why the two cannot be compared; then the lists are empty. */
  refused: string | null;
  notes: string[];
  paired_by: Record<string, number>;
  rows: (PairedDifference & {
    metric: string;
    model: string | null;
    before: number | null;
    after: number | null;
    lost: number;
    gained: number;
    clips: number;
    lower_is_better: boolean;
  })[];
  /** Rows (positions of clips) of the two runs that are the same clip or prompt. */
  pairs: [number, number][];
  /** Names of clips that only one of the runs has. */
  gone: string[];
  new: string[];
}

/** Means by value of a tag, per model. */
interface TagGroup {
  tag: string;
  value: string;
  model: string | null;
  run: number;
  clips: number;
  means: Record<string, { mean: number; low: number | null; high: number | null; clips: number }>;
}

/** One clip in data/detail-NNN.js. */
interface ClipDetail {
  /** Width and height of the clip as stored. */
  size: [number, number] | null;
  /** Pixels that boxes and overlays are in; null where not known (then those of `size`). */
  pixels: [number, number] | null;
  /** Seconds of each frame from the first, where they are uneven; else null and frame i is at i / fps. */
  timestamps: number[] | null;
  seconds: number;
  codec: string | null;
  sha256: string | null;
  /** Absolute path or address, only with --show-paths. */
  path: string | null;
  prompt_source: string | null;
  subject: string | null;
  notes: string[];
  events: ClipEvent[];
  /** Metric to series name to one value per frame. */
  series: Record<string, Record<string, (number | null)[]>>;
  /** CAS: probabilities of Bad, Poor, Fair, Good, Perfect. */
  probabilities: number[] | null;
  /** CAS: saliency grids of the worst view. */
  saliency: { frame: number; gain: number[][]; reason: string }[];
  /** Points (hundredths of the score's range) that a metric lost, and how many of them belong to no event. */
  lost: Record<string, { points: number; unexplained: number }>;
  /** Human ratings: dimension to mean and, where known, each rater's. */
  ratings: Record<string, { mean: number; each: (number | null)[] }>;
}
interface ClipEvent {
  metric: string;
  /** Runs of frames, first and last of each. */
  frames: [number, number][];
  reason: string;
  target: string | null;
  /** x0, y0, x1, y1 in `pixels`. */
  box: [number, number, number, number] | null;
  magnitude: number | null;
  threshold: number | null;
  /** Points it cost; null where the metric's loss cannot be divided, 0 where excused. */
  cost: number | null;
  excuse: string | null;
}

/** An overlay as stored in the run (docs/run-directory.md), before decoding. */
interface StoredOverlay {
  format: number;
  frames: number;
  size: [number, number];
  map?: [number, number];
  scale?: [number, number];
  objects?: {
    id: number;
    label: string;
    present: string;
    occluded: string;
    left: string | null;
    outlines: number[][][];
  }[];
  tracks?: { object: number; query_frames: number[]; visible: string[]; xy: number[][] }[];
  people?: { frames: (number[] | null)[] }[];
  camera?: { kinds: string[]; homographies: number[][]; inliers: number[] };
}

type State = import("./state.js").State;

/** Values of a field that filters, facets and sorting use (filter.js); one entry per clip. */
interface NumberColumn {
  kind: "number";
  /** NaN where missing. */
  at: Float64Array;
}
interface TextColumn {
  kind: "text";
  /** Distinct texts. */
  values: string[];
  /** Position in `values`, -1 where missing; null where a clip can have several. */
  codes: Int32Array | null;
  /** Positions in `values`; empty where there are codes. */
  lists: number[][];
}
type Column = NumberColumn | TextColumn;

/** A place that a media element can be loaded from, or the reason why there is none. */
type Media = { url: string; reason: null } | { url: null; reason: string };

/** A frame-exact player of one clip with its overlay on a canvas. */
interface Player {
  readonly root: HTMLElement;
  readonly row: number;
  readonly frames: number;
  /** Frame that the picture shows. */
  readonly frame: number;
  readonly playing: boolean;
  /** Resolves when the picture of that frame is on the screen; clamps to the clip. */
  seek(frame: number): Promise<void>;
  play(): Promise<void>;
  pause(): void;
  rate: number;
  muted: boolean;
  /** First and last frame to play in a loop, or null. */
  loop: [number, number] | null;
  layers: string[];
  /** Event to light up, or null. */
  highlight: ClipEvent | null;
  /** Event that is lit in its frames while no other is. */
  chosen?: ClipEvent | null;
  /** Seconds of a frame from the first. */
  timeOf(frame: number): number;
  /** Nearest frame shown at so many seconds from the first. */
  frameAt(seconds: number): number;
  /** Called with every frame that is shown. Returns a function that ends it. */
  onFrame(listener: (frame: number) => void): () => void;
  destroy(): void;
}

/** A page of the report. */
interface View {
  key: string;
  title: string;
  /** False where the data has nothing for it. */
  available(): boolean;
  /** Fills the empty element; called when the view opens. Returns what to do on later states and when it closes. */
  open(root: HTMLElement): { update(state: State): void; close(): void };
}

/** What scripts of data and the page itself call. */
interface Window {
  vmReport: {
    index(index: ReportIndex): void;
    inline(values: InlineData): void;
    detail(shard: number, clips: ClipDetail[]): void;
    overlay(row: number, gzipped: string): void;
    start(): void;
  };
}

/** Parts of a page in one file: pictures by row, details by shard. */
interface InlineData {
  posters: Record<number, string>;
  overlays: Record<number, string>;
  details: ClipDetail[][];
}
