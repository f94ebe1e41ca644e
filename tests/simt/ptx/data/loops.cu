extern "C" __global__ void k(const int* a, int* o, int n)
{
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int v = a[i];
        if (v < 0)
            break;
        if (v & 1)
            continue;
        for (int j = 0; j < v; j++) {
            if (a[j] == v)
                goto done;
            sum += a[j] * j;
        }
        __syncthreads();
    }
done:
    while (atomicCAS(o, 0, 1) != 0) { }
    o[1] += sum;
    atomicExch(o, 0);
}
