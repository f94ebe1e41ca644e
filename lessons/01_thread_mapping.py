import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="01 · Thread mapping")


@app.cell(hide_code=True)
def _():
    import marimo as mo

    from grader import check, predict
    from grader.lesson_figures import figure
    from grader.lesson_look import look

    return check, figure, look, mo, predict


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 01 · Thread mapping

    *45 minutes. Four kernels, three launches, and one that is for the curious.*

    ## Why

    A kernel says what one thread does. Which element that thread does it to is up to you: you compute it from the
    thread's number. It is a line or two, and there is no compiler to complain when it is the wrong line.
    """)
    return


@app.cell(hide_code=True)
def _(figure):
    figure("blocks")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The number that hurts: a matrix product with `x` and `y` swapped, in that one line, takes **142 ms instead of
    26.4 ms** (4096 × 4096, recorded: H200, 2026-11-29). Same result, same instructions, 5.4 times the time. And that is
    the kind luck: most wrong mappings are not slow but wrong.

    ## Play: your own kernels, thread by thread

    These pictures run the kernels that *you* write further down. Now they show the starters. Come back after each
    exercise and watch them fall into place.

    **One dimension.** Squares are elements of `y`, coloured by block. A cross means that nobody wrote there. The
    last squares lie beyond `n`: they belong to somebody else and should stay crossed.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    n_slider = mo.ui.slider(1, 128, value=75, label="elements, n", show_value=True)
    block_slider = mo.ui.slider(8, 64, step=8, value=32, label="threads a block", show_value=True)
    mo.hstack([n_slider, block_slider], justify="start", gap=2, wrap=True)
    return block_slider, n_slider


@app.cell(hide_code=True)
def _(block_slider, look, map1d_src, n_slider):
    by_block = {"grid": f"ceil_div(n, {block_slider.value})", "block": block_slider.value}
    line = look("thread_mapping.map1d", map1d_src, by_block, n=n_slider.value)
    line.thread_map("y", f"map1d: {n_slider.value} elements, then memory of somebody else")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **Two dimensions.** Each square is a float of the frame, in rows as they lie in memory. The columns on the right
    are padding: `pitch` floats lie between two rows, but only `width` of them are the picture.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    width_slider = mo.ui.slider(1, 40, value=21, label="width", show_value=True)
    height_slider = mo.ui.slider(1, 20, value=11, label="height", show_value=True)
    padding_slider = mo.ui.slider(0, 16, value=5, label="padding", show_value=True)
    mo.hstack([width_slider, height_slider, padding_slider], justify="start", gap=2, wrap=True)
    return height_slider, padding_slider, width_slider


@app.cell(hide_code=True)
def _(height_slider, look, map2d_src, padding_slider, width_slider):
    plane = look(
        "thread_mapping.map2d", map2d_src, {"grid": ["ceil_div(width, 8)", "ceil_div(height, 4)"], "block": [8, 4]},
        width=width_slider.value, height=height_slider.value, pitch=width_slider.value + padding_slider.value,
    )
    plane.thread_map("frame", "map2d in blocks of 8 × 4 threads")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **Few threads, many elements.** Two blocks of 16 threads, however many elements there are.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    many_slider = mo.ui.slider(1, 256, value=150, label="elements, n", show_value=True)
    many_slider
    return (many_slider,)


@app.cell(hide_code=True)
def _(gridstride_src, look, many_slider):
    rounds = look("thread_mapping.gridstride", gridstride_src, {"grid": 2, "block": 16}, n=many_slider.value)
    rounds.thread_map("y", "gridstride with 32 threads: each row is one round")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Predict

    Before you write: four numbers, from paper and pencil. Put them in place of `None` and run the cell; the card then
    offers a sealed line to paste over it.

    - `element`: in blocks of 256 threads, which element does thread 7 of block 3 take?
    - `idle`: `n = 1021`, 256 threads a block. How many threads must the guard keep out?
    - `offset`: rows of 33 floats are stored with a pitch of 40. How many floats into the memory is row 2, column 5?
    - `rounds`: a grid of 4 blocks of 128 threads strides over 5000 elements. How many elements does thread 0 take?
    """)
    return


@app.cell
def _():
    # exercise: thread_mapping.predict
    predict_values = {
        "answers": {  # TODO: a number in place of each None
            "element": None,
            "idle": None,
            "offset": None,
            "rounds": None,
        },
    }
    return (predict_values,)


@app.cell(hide_code=True)
def _(predict, predict_values):
    predict("thread_mapping.predict", predict_values)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Write 1 · One thread an element

    *Core, 8 minutes.* `map1d` stores `x[i] * x[i]` in `y[i]`, for `i` from 0 to `n - 1`.

    The launch below is right: enough blocks of 256 threads for `n` elements. That means up to 255 threads too many.
    Memory beyond `y[n - 1]` is not yours, and the cases look whether you touched it.
    """)
    return


@app.cell
def _():
    # exercise: thread_mapping.map1d
    map1d_src = r"""
    extern "C" __global__ void map1d(const float* x, float* y, int n) {
        int i = threadIdx.x;  // TODO: this thread's number among all threads of the grid
        y[i] = x[i] * x[i];  // TODO: only where there is an element
    }
    """
    map1d_launch = {"grid": "ceil_div(n, 256)", "block": 256}
    return map1d_launch, map1d_src


@app.cell(hide_code=True)
def _(check, map1d_launch, map1d_src):
    check("thread_mapping.map1d", map1d_src, map1d_launch)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** `blockIdx.x * blockDim.x` counts the threads in the blocks before this one. Blocks come whole,
    so a guard is part of almost every kernel. Note how the off-by-one variant `i <= n` fails: one single thread, one
    element too far. On a GPU it would mostly go unnoticed, and once in a while it would change a neighbour's data.

    ## Write 2 · Rows with a pitch

    *Core, 10 minutes.* Images and matrices are often stored with unused floats at the end of each row, so that every
    row starts at a good address. The distance from row to row is the *pitch*.
    """)
    return


@app.cell(hide_code=True)
def _(figure):
    figure("pitch")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    `map2d` puts the negative of a photo, `1 - photo`, into a frame. The photo's rows lie close together: its pitch *is*
    its width. The frame's rows lie `pitch` floats apart, and what lies between them must stay as it is. `x` counts
    columns, `y` counts rows; blocks are 32 × 8 threads.
    """)
    return


@app.cell
def _():
    # exercise: thread_mapping.map2d
    map2d_src = r"""
    extern "C" __global__ void map2d(
            const float* photo, float* frame, int width, int height, int pitch) {
        int col = blockIdx.x * blockDim.x + threadIdx.x;
        int row = 0;  // TODO: the same in y
        if (col < width) {  // TODO: rows end as well
            frame[row * width + col] = 1.0f - photo[row * width + col];  // TODO: the frame's rows
        }
    }
    """
    map2d_launch = {"grid": ("ceil_div(width, 32)", "ceil_div(height, 8)"), "block": (32, 8)}
    return map2d_launch, map2d_src


@app.cell(hide_code=True)
def _(check, map2d_launch, map2d_src):
    check("thread_mapping.map2d", map2d_src, map2d_launch)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** An index into two dimensions needs one number more than the element's coordinates: how far
    apart the rows lie. One of the cases has `pitch == width`. There, a kernel that mixes the two up is right, and that
    is why such a fault can live in a program for years.

    ## Write 3 · Three kernels, three launches

    *Core, 8 minutes.* Now the kernels are given, and you choose what stands between `<<<` and `>>>`: how many blocks,
    and how many threads in each. All three double a photo of `width` × `height` floats.

    ```cuda
    __global__ void flat(const float* photo, float* out, int width, int height) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < width * height) out[i] = 2.0f * photo[i];
    }

    __global__ void tiles(const float* photo, float* out, int width, int height) {
        int col = blockIdx.x * 32 + threadIdx.x;  // written for blocks of 32 × 8 threads
        int row = blockIdx.y * 8 + threadIdx.y;
        if (col < width && row < height) out[row * width + col] = 2.0f * photo[row * width + col];
    }

    __global__ void rows(const float* photo, float* out, int width, int height) {
        int row = blockIdx.x;  // one block a row
        for (int col = threadIdx.x; col < width; col += blockDim.x) {
            out[row * width + col] = 2.0f * photo[row * width + col];
        }
    }
    ```

    A dimension is a whole number, or a string over `width` and `height` with `+ - * // %`, `ceil_div`, `min`, `max`.
    Two dimensions stand in parentheses, x first: `("ceil_div(width, 32)", 8)`.
    """)
    return


@app.cell
def _():
    # exercise: thread_mapping.launch
    launch_launch = {
        "flat": {"grid": 1, "block": 256},  # TODO: enough blocks for width * height elements
        "tiles": {"grid": (1, 1), "block": (32, 8)},  # TODO: enough blocks in both directions
        "rows": {"grid": 1, "block": 128},  # TODO: which number of blocks does this kernel want?
    }
    return (launch_launch,)


@app.cell(hide_code=True)
def _(check, launch_launch):
    check("thread_mapping.launch", launch_launch)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** A launch belongs to a kernel: `flat` wants a thread an element, `tiles` a block for each piece,
    `rows` a block a row. Rounding down (`//`) loses the last, partly filled block. Rounding up is harmless only where
    there is a guard, and `rows` has none.

    ## Write 4 · Few threads, many elements

    *Core, 10 minutes.* A grid need not grow with `n`. Here it has 4 blocks of 128 threads, 512 in all, and up to 5000
    elements wait. Let each thread take one element after the other, so that

    - together they take each element **once**,
    - neighbouring threads always work on neighbouring elements, and
    - it is at least **twice as fast** as a kernel in which each block goes over all elements, with a million of them.

    `gridstride` stores `0.5 * x[i]` in `y[i]`. Where there is no GPU the card *estimates* the speed, for an H200.
    """)
    return


@app.cell
def _():
    # exercise: thread_mapping.gridstride
    gridstride_src = r"""
    extern "C" __global__ void gridstride(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = 0.5f * x[i];  // TODO: and then? one element a thread is not enough
    }
    """
    return (gridstride_src,)


@app.cell(hide_code=True)
def _(check, gridstride_src):
    check("thread_mapping.gridstride", gridstride_src)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** All threads advance by the size of the grid, so a round takes 512 elements in a row. This is
    the *grid-stride loop*. It works for every `n` and every launch, and the launch can then be chosen for the chip
    instead of for the data. With 67 million elements an H200 added two arrays in 0.226 ms this way, and in 0.240 ms with
    one thread an element (recorded: H200, 2026-11-29).

    A loop that starts at `threadIdx.x` and steps by `blockDim.x` is *right* too: every block then does all of the work.
    The answer does not show it; the counters do, and so does the clock: with four blocks yours was **4.0 times** as fast on
    an H200, 0.77 ms instead of 3.07 (recorded: H200, 2026-11-30). A round takes as long as a value takes to come from
    memory, and you need a quarter of the rounds.

    ## Write 5 · When an int is too short

    *For the curious, 6 minutes.* `wide_index` visits the elements of `x` in scattered order: `y[i] = x[(i * step) % n]`.
    As `step` and `n` have no common factor, each element comes up exactly once. All lengths and steps fit into an
    `int`. Their product need not: the largest one here is 2998 · 2,000,003. An `int` ends at 2,147,483,647.

    The same product hides in `row * pitch + col`. A matrix of 50,000 × 50,000 floats takes 10 GB, fits on many a GPU, and
    its last rows lie beyond the reach of an `int`.
    """)
    return


@app.cell
def _():
    # exercise: thread_mapping.wide_index
    wide_index_src = r"""
    extern "C" __global__ void wide_index(const float* x, float* y, int n, int step) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = x[i * step % n];  // TODO: the product must not wrap
    }
    """
    return (wide_index_src,)


@app.cell(hide_code=True)
def _(check, wide_index_src):
    check("thread_mapping.wide_index", wide_index_src)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What it showed.** C multiplies in the type of the factors; a `long long` on the left of the `=` comes too late.
    Widen a factor, not the product.

    ## Claim check: "a block of 2049 threads is a compile error"

    Two things are claimed: where the limit is, and who notices. Here is a kernel that takes any block, and three
    launches of it.
    """)
    return


@app.cell
def _(look):
    def launched(threads):
        launch = {"grid": "height", "block": threads}
        return look("thread_mapping.launch", kernel="rows", launch=launch, width=40, height=3).findings

    {threads: launched(threads) for threads in (1024, 1025, 2049)}
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The limit of a block is **1024** threads, on every architecture of the last ten years. (2048 is how many an SM can
    hold at once, in several blocks.) And the compiler cannot notice: the number of threads is not in the kernel, it
    comes with the launch. So a real program gets an error code from the launch, and goes on without the results if
    nobody looks at that code.

    ## Reflect

    One thread an element, or a grid-stride loop? When would you take which?

    /// details | An answer
    One thread an element is simpler to read, and the hardware's scheduler hands out blocks as others finish, which
    evens out work that is not equally long. A grid-stride loop pays when each thread has something to keep from one
    element to the next: a running sum, a table in shared memory, a constant that was expensive to compute. It also
    keeps the number of blocks small when each block ends with something costly, such as an atomic. Lesson 07 has a sum
    over 67 million elements that falls from 0.49 ms to 0.074 ms (recorded: H200, 2026-11-29), because 1056 blocks end
    with an atomic instead of 262,144.
    ///

    And why are blocks there at all? Why not just one long row of threads?

    /// details | An answer
    A block is what runs on one SM. Its threads can wait for one another and share memory that is close to them, and
    that is only possible because they are in one place. Blocks, on the other hand, know nothing of each other. So they
    can run in any order, on a chip with 10 SMs or 132, and the program stays the same.
    ///

    ### Where next

    Lesson 02 looks at what the 32 threads of a warp ask of memory *together*, and explains the 142 ms. To read on: the
    chapters *Kernels* and *Thread Hierarchy* of NVIDIA's CUDA C++ Programming Guide.
    """)
    return


if __name__ == "__main__":
    app.run()
