import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="04 · Tiling")


@app.cell(hide_code=True)
def _():
    import marimo as mo

    from grader import check, predict
    from grader.exercises.tiling import NAIVE_GEMM
    from grader.lesson_figures import figure
    from grader.lesson_look import look

    return NAIVE_GEMM, check, figure, look, mo, predict


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 04 · Tiling

    *60 minutes. Four kernels: two with a tile, one with a fault, one with a tile too many.*

    ## Why

    Multiply two 4096 × 4096 matrices, one thread an element, and each number of A and B is asked for **4096 times**:
    550 GB of loads for 134 MB of data. So let a block fetch a *tile* once, put it into *shared memory*, which is close to
    its threads, and use it many times.
    """)
    return


@app.cell(hide_code=True)
def _(figure):
    figure("gemm_tiles")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    With 16 × 16 tiles the load requests fall to a sixteenth. The time falls from 26.4 ms to 16.9 ms: **1.56 times faster,
    not sixteen** (recorded: H200, 2026-11-29). Both halves of this lesson are in that sentence: how to build a tile,
    and why to count before you hope.

    ## Play: how often is a number loaded?

    This is *your* stencil from further down, run on a small plane. Each square is an element of `plane`, and its colour
    says how many times a thread loaded it from global memory; point at it for the number. Without a tile most points
    are loaded five times. With one they are loaded once, but for those along the seams: a tile's edge is its
    neighbour's *halo*.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    width_slider = mo.ui.slider(8, 48, value=40, label="width", show_value=True)
    height_slider = mo.ui.slider(4, 24, value=18, label="height", show_value=True)
    mo.hstack([width_slider, height_slider], justify="start", gap=2, wrap=True)
    return height_slider, width_slider


@app.cell(hide_code=True)
def _(height_slider, look, stencil_src, width_slider):
    blur = look("tiling.stencil", stencil_src, width=width_slider.value, height=height_slider.value)
    blur.load_map("plane", "Loads of each element of plane by your stencil", most=5)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    How large should a tile be? The halo grows with its edge, the work with its area. Choose a shape and see what each
    point costs. (A block has at most 1024 threads.)
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    tile_x = mo.ui.slider(steps=[4, 8, 16, 32, 64, 128], value=32, label="tile width", show_value=True)
    tile_y = mo.ui.slider(steps=[1, 2, 4, 8, 16, 32], value=8, label="tile height", show_value=True)
    mo.hstack([tile_x, tile_y], justify="start", gap=2, wrap=True)
    return tile_x, tile_y


@app.cell(hide_code=True)
def _(mo, tile_x, tile_y):
    points, halo = tile_x.value * tile_y.value, 2 * tile_x.value + 2 * tile_y.value
    mo.hstack(
        [
            mo.stat(f"{(points + halo) / points:.2f}", label="loads a point", caption="5 without a tile", bordered=True),
            mo.stat(f"{points}", label="points and threads", caption="at most 1024" if points <= 1024 else "too many", bordered=True),
            mo.stat(f"{4 * (tile_x.value + 2) * (tile_y.value + 2):,} B", label="shared memory", caption="of each block", bordered=True),
        ],
        justify="start",
        wrap=True,
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Predict

    Four numbers. The last one is a guess, and a good one to remember.

    - `naive_loads`: a stencil of 3 × 3 points, without a tile. How many elements does an inner point load from global
      memory?
    - `tile_loads`: the same with a 16 × 16 tile, and a halo with its corners. How many loads a point? Two decimals.
    - `requests`: a matrix product through 32 × 32 tiles. By what factor do the load requests fall against one thread an
      element?
    - `speed`: and how many times faster is it, at N = 4096 on an H200?
    """)
    return


@app.cell
def _():
    # exercise: tiling.predict
    predict_values = {
        # BEGIN SOLUTION
        "answers": {"naive_loads": 9, "tile_loads": 1.27, "requests": 32, "speed": 1.7},
        "typed": "2026-11-29T12:00:00",
        "seal": "df4672bf",
        # STARTER
        # "answers": {  # TODO: a number in place of each None
        #     "naive_loads": None,
        #     "tile_loads": None,
        #     "requests": None,
        #     "speed": None,
        # },
        # END SOLUTION
    }
    return (predict_values,)


@app.cell(hide_code=True)
def _(predict, predict_values):
    predict("tiling.predict", predict_values)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Write 1 · A tile with a halo

    *Core, 20 minutes.* `stencil` blurs a plane: half of each point, plus an eighth of each of its four neighbours.
    Outside the plane there is 0.
    """)
    return


@app.cell(hide_code=True)
def _(figure):
    figure("halo")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Blocks are 32 × 8 threads, one for each point. The starter reads global memory five times a point. Put a tile
    between:

    1. Declare `__shared__ float tile[10][34];`, two higher and two wider than the block.
    2. Each thread loads its own point. Threads at an edge of the tile load one point more. `at` gives 0 outside.
    3. `__syncthreads()`: no thread goes on before all have loaded.
    4. The sum then takes everything from `tile`.

    The goal is at most 1.35 loads a point. A 32 × 8 tile needs 1.31.
    """)
    return


@app.cell
def _():
    # exercise: tiling.stencil
    stencil_src = r"""
    __device__ float at(const float* plane, int row, int col, int width, int height) {
        bool inside = row >= 0 && row < height && col >= 0 && col < width;
        return inside ? plane[row * width + col] : 0.0f;
    }

    extern "C" __global__ void stencil(const float* plane, float* out, int width, int height) {
        int tx = threadIdx.x, ty = threadIdx.y;
        int col = blockIdx.x * 32 + tx, row = blockIdx.y * 8 + ty;
        // BEGIN SOLUTION
        __shared__ float tile[10][34];
        tile[ty + 1][tx + 1] = at(plane, row, col, width, height);
        if (tx == 0) tile[ty + 1][0] = at(plane, row, col - 1, width, height);
        if (tx == 31) tile[ty + 1][33] = at(plane, row, col + 1, width, height);
        if (ty == 0) tile[0][tx + 1] = at(plane, row - 1, col, width, height);
        if (ty == 7) tile[9][tx + 1] = at(plane, row + 1, col, width, height);
        __syncthreads();
        float centre = tile[ty + 1][tx + 1];
        float around = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2];
        // STARTER
        // // TODO: a tile in shared memory, loaded once; then take these five from it
        // float centre = at(plane, row, col, width, height);
        // float around = at(plane, row - 1, col, width, height) + at(plane, row + 1, col, width, height)
        //              + at(plane, row, col - 1, width, height) + at(plane, row, col + 1, width, height);
        // END SOLUTION
        if (row < height && col < width) {
            out[row * width + col] = 0.5f * centre + 0.125f * around;
        }
    }
    """
    return (stencil_src,)


@app.cell(hide_code=True)
def _(check, stencil_src):
    check("tiling.stencil", stencil_src)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** The tile answers 3.7 of 5 loads. Every thread of the block takes part in loading, also those
    outside the plane: what they write is the zeros that their neighbours read. And every thread must come to
    `__syncthreads()`. Once it stands inside `if (row < height)`, some wait for others that never come.

    No speed was promised, for a reason. On a plane of 4096 × 3072 the kernel with the tile took 76 µs, the plain one 51:
    **0.67 times the speed** (recorded: H200, 2026-11-30). The caches had been answering the repeated loads all along;
    the tile only added work. You will meet tiles that pay. Count first, then measure.

    (The card may remark that two of the lines split a warp: one lane loads, 31 wait. True, and cheap here. Lesson 06 is
    about the cases where it is not.)

    ## Write 2 · A matrix product through tiles

    *Core, 25 minutes.* `gemm_tiled` computes C = A · B, with A of `m` × `k` numbers, B of `k` × `n`, all stored row by row.
    Blocks are 16 × 16 threads, one for each element of C. Sizes are whatever they are: 37 × 29 × 53 is one of the cases.

    Along `k` the block goes in steps of 16. In each step its threads fetch one tile of A and one of B, wait, multiply,
    and wait again. Where a tile sticks out of its matrix, put 0 into it: zeros add nothing.

    Two goals: at most a sixteenth of the load requests of one thread an element, and a tenth as margin; and **1.3 times
    its speed**, at 1024 × 1024 × 1024. On a GPU the card measures that, both kernels in turn. Without one it *estimates*,
    for an H200, and an estimate decides only where it lies more than 25 % away from the goal; closer by, the goal's points
    stay out of the mark until somebody measures.
    """)
    return


@app.cell
def _():
    # exercise: tiling.gemm_tiled
    gemm_tiled_src = r"""
    extern "C" __global__ void gemm_tiled(
            const float* A, const float* B, float* C, int m, int n, int k) {
        __shared__ float As[16][16], Bs[16][16];
        int tx = threadIdx.x, ty = threadIdx.y;
        int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
        float sum = 0.0f;
        for (int k0 = 0; k0 < k; k0 += 16) {
            // BEGIN SOLUTION
            As[ty][tx] = (row < m && k0 + tx < k) ? A[row * k + k0 + tx] : 0.0f;
            Bs[ty][tx] = (k0 + ty < k && col < n) ? B[(k0 + ty) * n + col] : 0.0f;
            __syncthreads();
            for (int i = 0; i < 16; ++i) sum += As[ty][i] * Bs[i][tx];
            __syncthreads();
            // STARTER
            // // TODO: load one element of each tile, 0 outside the matrix
            // // TODO: wait; add 16 products; wait
            // END SOLUTION
        }
        if (row < m && col < n) C[row * n + col] = sum;
    }
    """
    return (gemm_tiled_src,)


@app.cell(hide_code=True)
def _(check, gemm_tiled_src):
    check("tiling.gemm_tiled", gemm_tiled_src)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** Two barriers, for two different reasons. The first: nobody multiplies before all have loaded.
    The second: nobody loads the next tile over this one before all have multiplied. Take one away and watch the card
    name the pair of lines. On a GPU such a kernel is often right, on some days.

    **Requests are not sectors.** Load requests fell to a sixteenth, but each of them now asks for four sectors of 32
    bytes; the plain kernel's asked for two. At N = 256 an H200 counted 2.10 million sectors for the plain kernel and 0.26
    million for yours: an eighth, not a sixteenth (recorded: H200, 2026-11-29).

    **And requests are not time.** A sixteenth of the requests, an eighth of the sectors, and at 1024³ an H200 took 281 µs
    instead of 426: **1.5 times** the speed (recorded: H200, 2026-11-30). That is why the goal is 1.3 and not 13.

    ## Write 3 · A published kernel that is wrong

    *Core, 8 minutes.* Kernels of this kind are printed in many tutorials. This one was written for this course, with
    the same fault as one that is online. It compiles, and neither races nor reads out of bounds. Here is what it gets
    wrong:
    """)
    return


@app.cell(hide_code=True)
def _(debug_published_src, look):
    published = look("tiling.debug_published", debug_published_src, m=32, n=48, k=40)
    published.error_map("C", "C by the kernel below")
    return


@app.cell
def _():
    # exercise: tiling.debug_published
    debug_published_src = r"""
    extern "C" __global__ void gemm_published(
            const float* A, const float* B, float* C, int m, int n, int k) {
        __shared__ float As[16][16], Bs[16][16];
        int tx = threadIdx.x, ty = threadIdx.y;
        int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
        float sum = 0.0f;
        for (int k0 = 0; k0 < k; k0 += 16) {
            As[ty][tx] = (row < m && k0 + tx < k) ? A[row * k + k0 + tx] : 0.0f;
            Bs[ty][tx] = (k0 + ty < k && col < n) ? B[(k0 + ty) * n + col] : 0.0f;
            __syncthreads();
            // BEGIN SOLUTION
            for (int i = 0; i < 16; ++i) sum += As[ty][i] * Bs[i][tx];
            // STARTER
            // for (int i = 0; i < 16; ++i) sum += As[ty][i] * Bs[i][ty];
            // END SOLUTION
            __syncthreads();
        }
        if (row < m && col < n) C[row * n + col] = sum;
    }
    """
    return (debug_published_src,)


@app.cell(hide_code=True)
def _(check, debug_published_src):
    check("tiling.debug_published", debug_published_src)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** An error map tells more than the first wrong number. A diagonal that is right, in every tile,
    points at the two indices that are equal there.

    And why had nobody noticed? Programs of this kind often fill A with ones and B with twos. Then every element of C
    is the same, and so is the sum of the wrong products. Test data must make a wrong answer look wrong.

    ## Write 4 · A tile too many

    *Core, 6 minutes.* `weigh_columns` multiplies each column of a plane by its weight. Somebody had learned that shared
    memory is fast. The kernel is right. Make it simpler: no shared memory, no barrier.
    """)
    return


@app.cell
def _():
    # exercise: tiling.when_not
    when_not_src = r"""
    extern "C" __global__ void weigh_columns(
            const float* plane, const float* weight, float* out, int width, int height) {
        int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
        // BEGIN SOLUTION
        if (row < height && col < width) {
            out[row * width + col] = plane[row * width + col] * weight[col];
        }
        // STARTER
        // __shared__ float tile[8][32];
        // bool inside = row < height && col < width;
        // tile[threadIdx.y][threadIdx.x] = inside ? plane[row * width + col] : 0.0f;
        // __syncthreads();
        // if (inside) {
        //     out[row * width + col] = tile[threadIdx.y][threadIdx.x] * weight[col];
        // }
        // END SOLUTION
    }
    """
    return (when_not_src,)


@app.cell(hide_code=True)
def _(check, when_not_src):
    check("tiling.when_not", when_not_src)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** Shared memory pays for *sharing*: when a number that one thread loaded is used by another. Ask
    of every tile: how many threads read each element? If the answer is one, a register does the same, and nobody has to
    wait.

    ## Claim check: "tiles make a matrix product 4 to 10 times faster, and they must be padded"

    Two claims that often come together. The first is measured quickly, on a GPU:

    | kernel, N = 4096 | ms | against the first |
    |:--|--:|:--|
    | one thread an element, 16 × 16 blocks | 26.4 | |
    | tiles of 16 × 16 | 16.9 | 1.56 × faster |
    | tiles of 32 × 32 | 15.6 | 1.70 × faster |
    | tiles of 16 × 16, rows padded to 17 | 21.9 | 1.21 × faster |
    | tiles of 32 × 32, rows padded to 33 | 19.6 | 1.35 × faster |

    *Recorded: H200, 2026-11-29.* Not 4, not 10. And the padded kernels are the **slower** ones, by 26 to 29 per cent. The
    second claim can be tested without a GPU. Padding is there to cure *bank conflicts* (lesson 05). How many excess
    wavefronts do the loads of your tile cause?
    """)
    return


@app.cell
def _(NAIVE_GEMM, gemm_tiled_src, look):
    plain = look("tiling.gemm_tiled", NAIVE_GEMM, m=64, n=64, k=64).counters
    tiled = look("tiling.gemm_tiled", gemm_tiled_src, m=64, n=64, k=64).counters

    {
        "global load requests": f"{plain.global_load_requests:,} → {tiled.global_load_requests:,}",
        "global load sectors": f"{plain.global_load_sectors:,} → {tiled.global_load_sectors:,}",
        "excess wavefronts of the tile's loads": tiled.shared_load_excess,
    }
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    None. The threads of a warp read `Bs[i][tx]` side by side and `As[ty][i]` all from one place or two: there is nothing
    to cure. What padding does is to move rows off their 16-byte boundaries, and then the compiler can no longer fetch
    four numbers with one instruction. Padding pays when a warp walks down a *column* of a tile. That variant of the
    kernel went from 77 ms to 19.6 ms with it.

    **What to take away:** a remedy belongs to a disease. Count the conflicts before you pad.

    ## Reflect

    Larger tiles are loaded less often: with 32 × 32 instead of 16 × 16 the requests halve again. Yet 16.9 ms became only
    15.6 ms. What does a larger tile cost, and how would you find the best size?

    /// details | An answer
    Two tiles of 16 × 16 floats take 2 KB and a block of 256 threads. Two of 32 × 32 take 8 KB and a block of 1024. An
    SM of an H200 holds 2048 threads: eight blocks of the small kind, two of the large one. While one block waits at a
    barrier, only the others can work, and with two there is just one other. A larger tile also wastes more at the edges
    of the matrix. So reuse goes up, and the number of blocks that can stand in for one another goes down.

    Which effect wins is not to be had by thinking. Make the tile size a constant, compile each, and time them on the
    chip that you care about. Lesson 08 shows how to compute how many blocks fit, lesson 09 how to get more reuse
    without larger blocks: one thread that computes 8 × 8 elements takes 3.58 ms.
    ///

    If the caches serve the plain kernel so well, where do its 26.4 ms go?

    /// details | An answer
    Into the loads themselves. Each multiply-add of the plain kernel needs two load instructions, and a load that hits
    the cache still takes its turn in the load unit. The tiled kernel moves the data less often from far away, but it
    still loads two numbers from shared memory for each multiply-add. That is why it is not much faster. To get on, a
    thread must use a number several times after loading it: register tiling.
    ///

    ### Where next

    Lesson 05 looks at what makes one shared-memory access slower than another. To read on: the section *Shared Memory*
    of NVIDIA's CUDA C++ Programming Guide, and Simon Boehm's *How to Optimize a CUDA Matmul Kernel*, with the numbers
    above beside you.
    """)
    return


if __name__ == "__main__":
    app.run()
